//! Building the image: mmdebstrap installs Debian's packages, our files come on top, and the whole becomes a disk.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::content::PACKAGES;
use super::{DISK, INITRD, KERNEL};
use crate::debian::{bootstrap, common_recipe};
use crate::host::progress::say;

const ARCHIVE: &str = "files.cpio";
const RESULT: &str = "image";

/// Steps in a shell on the host, where `$1` is the new root.
const FURNISH: &str = "chroot \"$1\" sh -ec 'cpio -idu --quiet < /files.cpio; rm /files.cpio; exec sh /boot/setup.sh'";
/// Through a second mount, which does not show the systems mounted in the root: their files would be copied too.
const MAKE_DISK: &str = "set -e
trap 'umount \"$1.plain\"; rmdir \"$1.plain\"; rm -f \"$1.ext4\"' EXIT
mkdir \"$1.plain\"
mount --bind \"$1\" \"$1.plain\"
mke2fs -q -t ext4 -O ^metadata_csum -E lazy_itable_init=0,lazy_journal_init=0 -d \"$1.plain\" \"$1.ext4\" 4G
qemu-img convert -O qcow2 \"$1.ext4\" \"$1/disk.qcow2\"";

/// Builds below `workshop`, and returns the folder with the image's files.
pub(super) async fn image(workshop: &Path, archive: &[u8]) -> anyhow::Result<PathBuf> {
    let result = workshop.join(RESULT);
    std::fs::create_dir_all(&result).with_context(|| format!("failed to create `{}`", result.display()))?;
    let files = workshop.join(ARCHIVE);
    std::fs::write(&files, archive).with_context(|| format!("failed to write `{}`", files.display()))?;
    say("building the machine's disk image from Debian's packages, once: about 2 minutes, and 150 MB to fetch");
    bootstrap("the image", &recipe(), "-", workshop).await?;
    Ok(result)
}

/// The words of the command that decide what comes out.
pub(super) fn recipe() -> Vec<String> {
    let include = PACKAGES.lines().collect::<Vec<_>>().join(",");
    let mut words = common_recipe();
    // What is there makes an initrd at each installation of a kernel; the image makes its own.
    words.push("--dpkgopt=path-exclude=/etc/kernel/postinst.d/*".to_owned());
    words.extend(["--variant=apt", "--format=null"].map(ToOwned::to_owned));
    words.push(format!("--include={include}"));
    let downloads = [("/disk.qcow2", DISK), ("/boot/initrd", INITRD), ("/vmlinuz", KERNEL)];
    let hooks = [
        format!("upload {ARCHIVE} /files.cpio"),
        FURNISH.to_owned(),
        MAKE_DISK.to_owned(),
    ]
    .into_iter()
    .chain(downloads.map(|(inside, name)| format!("download {inside} {RESULT}/{name}")));
    words.extend(hooks.map(|hook| format!("--customize-hook={hook}")));
    words
}
