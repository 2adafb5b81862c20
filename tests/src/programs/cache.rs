//! Built programs, kept for the next run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{build, cache_home, module};
use crate::host::progress::say;

/// The folder with the programs of our modules, built first if it is not there.
pub(super) async fn folder() -> anyhow::Result<PathBuf> {
    let home = cache_home()?.join("programs");
    std::fs::create_dir_all(&home).with_context(|| format!("failed to create `{}`", home.display()))?;
    let folder = home.join(module::cache_key()?);
    if folder.is_dir() {
        return Ok(folder);
    }
    let _lock = lock(folder.with_extension("lock")).await?;
    // Another run may have built it while this one waited.
    if !folder.is_dir() {
        build_beside(&folder).await?;
    }
    Ok(folder)
}

/// Builds in a folder of another name and renames it when it is whole, so that a half-built one is never taken.
async fn build_beside(folder: &Path) -> anyhow::Result<()> {
    let workshop = folder.with_extension("building");
    if workshop.exists() {
        std::fs::remove_dir_all(&workshop).with_context(|| format!("failed to clear `{}`", workshop.display()))?;
    }
    let programs = build::all(&workshop).await?;
    std::fs::rename(&programs, folder)
        .with_context(|| format!("failed to rename `{}` to `{}`", programs.display(), folder.display()))?;
    std::fs::remove_dir_all(&workshop).with_context(|| format!("failed to clear `{}`", workshop.display()))
}

/// Held until the returned file is closed, also by a crash.
async fn lock(path: PathBuf) -> anyhow::Result<File> {
    let file = File::create(&path).with_context(|| format!("failed to create `{}`", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => say("waiting for another run, which is building the programs of Kubernetes"),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("failed to lock `{}`", path.display()));
        }
    }
    tokio::task::spawn_blocking(move || file.lock().map(|()| file))
        .await?
        .context("failed to wait for another run")
}
