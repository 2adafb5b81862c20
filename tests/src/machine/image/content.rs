//! What goes into the image; part of this program, so that it can run from anywhere.

use std::fmt::Write as _;

use anyhow::Context;
use ring::digest::{Context as Digest, SHA256};

use super::build;
use crate::debian::SUITE;
use crate::machine::archive::File;
use crate::programs::Programs;

/// Debian's packages, one a line.
pub(super) const PACKAGES: &str = include_str!("../../../image/packages");

type Embedded = (&'static str, u32, &'static str);

macro_rules! embedded {
    ($($path:literal $mode:literal),* $(,)?) => {
        [$(($path, $mode, include_str!(concat!("../../../image/rootfs", $path)))),*]
    };
}

const FILES: [Embedded; 15] = embedded![
    "/boot/images.sh" 0o644,
    "/boot/init" 0o755,
    "/boot/package.sh" 0o755,
    "/boot/setup.sh" 0o644,
    "/etc/cloud/cloud.cfg.d/90-lab.cfg" 0o644,
    "/etc/cni/net.d/10-bridge.conflist" 0o644,
    "/etc/containerd/config.toml" 0o644,
    "/etc/hosts" 0o644,
    "/etc/modules-load.d/kubernetes.conf" 0o644,
    "/etc/sysctl.d/90-kubernetes.conf" 0o644,
    "/etc/systemd/journald.conf.d/lab.conf" 0o644,
    "/etc/systemd/network/50-vpc.network" 0o644,
    "/etc/systemd/system/systemd-udev-trigger.service.d/lab.conf" 0o644,
    "/usr/lib/systemd/system/kubelet.service" 0o644,
    "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf" 0o644,
];

/// All files that are not Debian's.
pub(super) fn files(programs: &Programs) -> anyhow::Result<Vec<File>> {
    let mut files = FILES
        .map(|(path, mode, content)| File::new(path, mode, content))
        .to_vec();
    let programs = [
        (&programs.kubelet, "/usr/bin/kubelet"),
        (&programs.kubeadm, "/usr/bin/kubeadm"),
        // It goes on into the image of a container.
        (&programs.kube_proxy, "/boot/kube-proxy"),
    ];
    for (program, path) in programs {
        let content = std::fs::read(program).with_context(|| format!("failed to read `{}`", program.display()))?;
        files.push(File::new(path, 0o755, content));
    }
    Ok(files)
}

/// The name under which an image of these files is kept: another content or another way to build it, another name.
pub(super) fn cache_key(archive: &[u8]) -> anyhow::Result<String> {
    let mut digest = Digest::new(&SHA256);
    digest.update(archive);
    for word in build::recipe() {
        digest.update(word.as_bytes());
        digest.update(b"\0");
    }
    let mut key = format!("{SUITE}-");
    for byte in &digest.finish().as_ref()[..6] {
        write!(key, "{byte:02x}")?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::*;

    fn find(folder: &Path, found: &mut BTreeMap<PathBuf, u32>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                find(&path, found);
            } else {
                // Git keeps no more of a mode than whether a file can be run.
                let runs = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
                found.insert(path, if runs { 0o755 } else { 0o644 });
            }
        }
    }

    #[test]
    fn every_file_of_the_tree_is_part_of_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("image/rootfs");
        let mut tree = BTreeMap::new();
        find(&root, &mut tree);
        let embedded: BTreeMap<_, _> = FILES.map(|(path, mode, _)| (root.join(&path[1..]), mode)).into();
        assert_eq!(embedded, tree);
    }

    #[test]
    fn another_content_has_another_key() {
        let [one, other] = ["one", "other"].map(|content| cache_key(content.as_bytes()).unwrap());
        assert!(
            one != other && one.starts_with("trixie-") && one.len() == "trixie-".len() + 12,
            "{one}"
        );
    }
}
