//! Files that are whole or absent: written beside, synced, renamed.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// Readable by root alone.
pub(crate) const PRIVATE: u32 = 0o600;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Readable by all.
pub(crate) const PUBLIC: u32 = 0o644;

/// Writes a file so that a crash leaves the old content or the new one, on the disk before this returns.
pub(crate) fn write(path: &Path, content: &[u8], mode: u32) -> anyhow::Result<()> {
    replace(path, content, mode).with_context(|| format!("failed to write `{}`", path.display()))
}

fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut beside = NamedTempFile::new_in(folder)?;
    beside.write_all(content)?;
    beside.as_file().set_permissions(Permissions::from_mode(mode))?;
    beside.as_file().sync_all()?;
    match beside.persist(path) {
        Ok(_) => File::open(folder)?.sync_all(),
        // A file that is a mount point of its own, as in a container, cannot be renamed over.
        Err(error) if mode == PUBLIC && error.error.kind() == io::ErrorKind::ResourceBusy => fs::write(path, content),
        Err(error) => Err(error.error),
    }
}

/// Writes a file unless it says so already; tells whether it was written.
pub(crate) fn write_if_changed(path: &Path, content: &[u8], mode: u32) -> anyhow::Result<bool> {
    if read(path)?.is_some_and(|old| old.as_bytes() == content) {
        return Ok(false);
    }
    write(path, content, mode).map(|()| true)
}

/// Writes a setting of the kernel's, a file below /proc/sys, unless it says so already.
pub(crate) fn write_setting(path: &Path, value: &str) -> anyhow::Result<()> {
    if read(path)?.is_some_and(|it| it.trim() == value) {
        return Ok(());
    }
    fs::write(path, value).with_context(|| format!("failed to write `{}`", path.display()))
}

/// Points a symbolic link elsewhere in one step.
pub(crate) fn relink(path: &Path, target: &Path) -> anyhow::Result<()> {
    let link = || -> io::Result<()> {
        let beside = path.with_extension("dynk8s-new");
        remove_file(&beside)?;
        symlink(target, &beside)?;
        fs::rename(&beside, path)
    };
    link().with_context(|| format!("failed to point `{}` at `{}`", path.display(), target.display()))
}

/// Reads text; `None` if there is no such file. What is no file, or longer than any of ours, is refused.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match read_bounded(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    // Before it is opened: to open a pipe is to wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

/// Makes a folder, and those above it, that only root may enter.
pub(crate) fn private_folder(path: &Path) -> anyhow::Result<()> {
    folder(path, 0o700)
}

/// Makes a folder, and those above it.
pub(crate) fn public_folder(path: &Path) -> anyhow::Result<()> {
    folder(path, 0o755)
}

fn folder(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(path)
        .with_context(|| format!("failed to make the folder `{}`", path.display()))
}

/// Removes a file or a folder with all that is in it; absent is fine.
pub(crate) fn remove(path: &Path) -> anyhow::Result<()> {
    // A link goes by itself, and what it points at stays.
    let result = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        remove_file(path)
    };
    result.with_context(|| format!("failed to remove `{}`", path.display()))
}

/// Empties a file in its place, for those who have it open or mounted; absent is fine. Tells whether something was in it.
pub(crate) fn empty(path: &Path) -> anyhow::Result<bool> {
    let empty = || -> io::Result<bool> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Ok(metadata) if metadata.len() == 0 => Ok(false),
            _ => File::create(path)?.sync_all().map(|()| true),
        }
    };
    empty().with_context(|| format!("failed to empty `{}`", path.display()))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{PRIVATE, empty, read, relink, remove, write, write_if_changed, write_setting};

    #[test]
    fn writes_whole_files_with_their_mode_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write(&path, b"one", PRIVATE).unwrap();
        write(&path, b"two", PRIVATE).unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn reads_no_device_no_folder_and_nothing_endless() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        std::fs::write(&long, vec![b'x'; (1 << 20) + 1]).unwrap();
        for (path, why) in [
            (Path::new("/dev/zero"), "regular file"),
            (folder.path(), "regular file"),
            (&long, "longer than 1048576 bytes"),
        ] {
            let error = format!("{:#}", read(path).unwrap_err());
            assert!(
                error.contains(why) && error.contains(&path.display().to_string()),
                "{error}"
            );
        }
    }

    #[test]
    fn tells_whether_it_changed_something() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(write_if_changed(&path, b"one", PRIVATE).unwrap());
        assert!(!write_if_changed(&path, b"one", PRIVATE).unwrap());
        assert!(write_if_changed(&path, b"two", PRIVATE).unwrap());
    }

    #[test]
    fn names_the_path_that_cannot_be_written() {
        let error = write(Path::new("/nonexistent/file"), b"", PRIVATE).unwrap_err();
        assert_eq!(error.to_string(), "failed to write `/nonexistent/file`");
    }

    #[test]
    fn replaces_a_file_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        write(&path, b"old", PRIVATE).unwrap();
        relink(&path, Path::new("/run/target")).unwrap();
        assert_eq!(path.read_link().unwrap(), Path::new("/run/target"));
    }

    #[test]
    fn writes_a_setting_in_its_place_and_only_if_it_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("src_valid_mark");
        std::fs::write(&path, "0\n").unwrap();
        write_setting(&path, "1").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("1"));
        std::fs::write(&path, "1\n").unwrap();
        write_setting(&path, "1").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("1\n"), "left alone");
    }

    #[test]
    fn empties_what_is_there_and_makes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine-id");
        assert!(!empty(&path).unwrap() && !path.exists());
        std::fs::write(&path, "0123").unwrap();
        assert!(empty(&path).unwrap() && !empty(&path).unwrap());
        assert_eq!(path.metadata().unwrap().len(), 0);
    }

    #[test]
    fn removes_what_is_there_and_forgives_what_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"x", PRIVATE).unwrap();
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
    }
}
