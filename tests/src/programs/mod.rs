//! The real programs under the lab, Kubernetes' and etcd's: taken from a given folder, from the cache, or built.

mod build;
mod module;
pub mod monitoring;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::host::cache;
use crate::host::process::{here, run};

/// Names a folder with the programs of a release, for those who have one.
const GIVEN: &str = "KUBE_BIN_DIR";

/// Where each program is, and the release that they are of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Programs {
    pub version: String,
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kube_controller_manager: PathBuf,
    pub kube_proxy: PathBuf,
    pub kubeadm: PathBuf,
    pub kubectl: PathBuf,
    pub kubelet: PathBuf,
}

/// Finds the programs, and builds them if they are nowhere.
///
/// Building needs the network, so this comes before the lab enters a network namespace of its own.
pub async fn ensure() -> anyhow::Result<Programs> {
    let folder = match std::env::var_os(GIVEN) {
        Some(given) => PathBuf::from(given),
        None => cache::folder("programs", &module::cache_key()?, build::all).await?,
    };
    Programs::open(&folder).await
}

impl Programs {
    async fn open(folder: &Path) -> anyhow::Result<Self> {
        let folder = std::path::absolute(folder)?;
        let program = |name: &str| find(&folder, name);
        let kubeadm = program("kubeadm")?;
        Ok(Self {
            version: version(&kubeadm).await?,
            etcd: program("etcd")?,
            kube_apiserver: program("kube-apiserver")?,
            kube_controller_manager: program("kube-controller-manager")?,
            kube_proxy: program("kube-proxy")?,
            kubectl: program("kubectl")?,
            kubelet: program("kubelet")?,
            kubeadm,
        })
    }
}

fn find(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    match path.metadata() {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Ok(path),
        _ => bail!(
            "`{}` holds no program `{name}`: put it there, or unset {GIVEN} and it will be built",
            folder.display()
        ),
    }
}

/// Asked of kubeadm, since its answer is the one that a joining node goes by.
async fn version(kubeadm: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(kubeadm);
    command.args(["version", "--output=short"]);
    let answer = run(command, b"", Duration::from_secs(20), &here())
        .await
        .context("failed to ask kubeadm for its version")?;
    Ok(answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_given_folder_must_hold_every_program() {
        let folder = tempfile::tempdir().unwrap();
        let error = Programs::open(folder.path()).await.unwrap_err();
        assert!(error.to_string().contains("holds no program `kubeadm`"), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubectl"), "").unwrap();
        assert!(find(folder.path(), "kubectl").is_err());
    }
}
