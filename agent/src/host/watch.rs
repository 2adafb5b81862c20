//! Hearing of changes in folders, without looking.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

/// Folders that are watched. Tokio has no type for it, and to one for pipes it is no other.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    events: pipe::Receiver,
}

impl FolderWatch {
    /// Watches those folders that are there.
    pub(crate) fn new(folders: &[&Path]) -> anyhow::Result<Self> {
        let failed = "failed to watch folders for changes";
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).context(failed)?;
        let changes = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_ONLYDIR;
        for folder in folders.iter().filter(|it| it.is_dir()) {
            inotify
                .add_watch(*folder, changes)
                .with_context(|| format!("failed to watch `{}` for changes", folder.display()))?;
        }
        let events = pipe::Receiver::from_owned_fd_unchecked(inotify.into()).context(failed)?;
        Ok(Self { events })
    }

    /// Returns after a change, whatever it was.
    pub(crate) async fn changed(&mut self) -> io::Result<()> {
        // What does not fit is read the next time.
        self.events.read(&mut [0; 4096]).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::FolderWatch;

    #[tokio::test]
    async fn hears_of_a_file_that_is_written_replaced_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        let mut watch = FolderWatch::new(&[folder.path(), Path::new("/nonexistent")]).unwrap();
        assert!(
            timeout(Duration::from_millis(20), watch.changed()).await.is_err(),
            "nothing happened"
        );
        for change in [
            &|| std::fs::write(&file, "x").unwrap(),
            &|| crate::host::files::write(&file, b"y", 0o644).unwrap(),
            &|| std::fs::remove_file(&file).unwrap(),
        ] as [&dyn Fn(); 3]
        {
            change();
            timeout(Duration::from_secs(5), watch.changed()).await.unwrap().unwrap();
            while timeout(Duration::from_millis(20), watch.changed()).await.is_ok() {}
        }
    }
}
