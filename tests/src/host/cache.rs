//! What is costly to make and can be made again, kept for the next run.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::progress::say;

/// The folder of this kind and key, made first if it is not there: `make` is given a workshop and says where in it the folder is.
pub async fn folder(
    kind: &str,
    key: &str,
    make: impl AsyncFnOnce(&Path) -> anyhow::Result<PathBuf>,
) -> anyhow::Result<PathBuf> {
    let home = home()?.join(kind);
    std::fs::create_dir_all(&home).with_context(|| format!("failed to create `{}`", home.display()))?;
    let folder = home.join(key);
    if folder.is_dir() {
        return Ok(folder);
    }
    let _lock = lock(beside(&folder, "lock"), kind).await?;
    // Another run may have made it while this one waited.
    if !folder.is_dir() {
        make_beside(&folder, make).await?;
    }
    Ok(folder)
}

/// Makes it in a folder of another name and renames it when it is whole, so that a half-made one is never taken.
async fn make_beside(folder: &Path, make: impl AsyncFnOnce(&Path) -> anyhow::Result<PathBuf>) -> anyhow::Result<()> {
    let workshop = beside(folder, "building");
    if workshop.exists() {
        std::fs::remove_dir_all(&workshop).with_context(|| format!("failed to clear `{}`", workshop.display()))?;
    }
    let result = make(&workshop).await?;
    std::fs::rename(&result, folder)
        .with_context(|| format!("failed to rename `{}` to `{}`", result.display(), folder.display()))?;
    std::fs::remove_dir_all(&workshop).with_context(|| format!("failed to clear `{}`", workshop.display()))
}

/// Held until the returned file is closed, also by a crash.
async fn lock(path: PathBuf, kind: &str) -> anyhow::Result<File> {
    let file = File::create(&path).with_context(|| format!("failed to create `{}`", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => say(format_args!("waiting for another run, which is making the {kind}")),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("failed to lock `{}`", path.display()));
        }
    }
    tokio::task::spawn_blocking(move || file.lock().map(|()| file))
        .await?
        .context("failed to wait for another run")
}

/// Not by `with_extension`, which would take the end of a version for one.
fn beside(folder: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(folder);
    name.push(format!(".{extension}"));
    PathBuf::from(name)
}

fn home() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| Path::new(value).is_absolute());
    let home = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))
        .context("failed to find a cache folder: set HOME or XDG_CACHE_HOME")?;
    Ok(home.join("dynk8s"))
}
