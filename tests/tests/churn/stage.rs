//! A cluster with the manifests applied, and a way in for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use dynk8s_lab::cluster::{self, API_ADDRESS, ControlPlane, NAMESPACE};
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::host::process::Process;
use dynk8s_lab::programs::Programs;
use tokio::runtime::Builder;

const ACCOUNT: &str = "dynk8s-provisioner-reconcile";

pub(crate) struct Stage {
    // Dropped before the namespace that it lives in.
    _proxy: Process,
    _control_plane: ControlPlane,
    pub(crate) provisioner: PathBuf,
    pub(crate) machine: Namespace,
}

impl Stage {
    pub(crate) fn set(programs: &Programs, provisioner: &Path) -> anyhow::Result<Self> {
        let machine = cluster::machine()?;
        let scratch = Path::new(SCRATCH);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let folder = scratch.join("cluster");
        let control_plane = runtime.block_on(async {
            let control_plane = ControlPlane::start(programs, &folder, machine.spawner()).await?;
            control_plane.install().await?;
            let server = format!("https://{API_ADDRESS}:6443");
            let making = control_plane.service_account_kubeconfig(NAMESPACE, ACCOUNT, &server);
            std::fs::write(kubeconfig(), making.await?)?;
            anyhow::Ok(control_plane)
        })?;
        let mut proxy = Command::new(&programs.kubectl);
        proxy
            .args(["proxy", "--port=8001"])
            .env("KUBECONFIG", control_plane.admin_kubeconfig());
        let proxy = Process::start(proxy, &scratch.join("proxy.log"), &machine.spawner())?;
        Ok(Self {
            _proxy: proxy,
            _control_plane: control_plane,
            provisioner: provisioner.to_owned(),
            machine,
        })
    }
}

/// What `reconcile` logs in with.
pub(crate) fn kubeconfig() -> PathBuf {
    Path::new(SCRATCH).join("reconcile.kubeconfig")
}
