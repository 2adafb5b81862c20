//! What stands between the binaries and a user's machine is what it should be: package, units, user data, image.

mod image;
mod root;
mod rpm;
mod units;
mod user_data;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dynk8s_lab::debian::{Debian, JUDGE};
use dynk8s_lab::host::packages;
use tokio::runtime::Builder;

/// This repository.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is below the folder `packaging` of this repository.
fn packaging(path: &str) -> PathBuf {
    workspace().join("packaging").join(path)
}

/// The Debian whose programs judge what is looked at here; also sees to what the host needs for packages.
fn debian() -> anyhow::Result<Debian> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        packages::ensure_host_packages().await?;
        Debian::ensure(&JUDGE).await
    })
}
