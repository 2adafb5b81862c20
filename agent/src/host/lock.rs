//! One journey at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Held while the journey lasts; the kernel lets it go with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Flock<File>,
}

/// Another journey is under way.
#[derive(Debug, thiserror::Error)]
#[error("another dynk8s-agent is running (it holds `{0}`); `dynk8s-agent status` tells how far it is")]
pub(crate) struct Held(PathBuf);

/// Takes the lock, or says by [`Held`] that another journey is under way.
pub(crate) fn take(path: &Path) -> anyhow::Result<Lock> {
    let file = File::create(path).with_context(|| format!("failed to open `{}`", path.display()))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => Ok(Lock { _file: file }),
        Err((_, Errno::EWOULDBLOCK)) => Err(Held(path.to_owned()).into()),
        Err((_, error)) => Err(error).with_context(|| format!("failed to lock `{}`", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::take;

    #[test]
    fn admits_one_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = take(&path).unwrap();
        assert!(take(&path).unwrap_err().to_string().contains("another dynk8s-agent"));
        drop(held);
        take(&path).unwrap();
    }
}
