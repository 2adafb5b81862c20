//! A control plane: etcd, the API server and the controller manager as processes, their PKI and RBAC made by kubeadm.
//!
//! There is no scheduler and no kubelet: pods are placed by tests, and nodes come from outside. All its files are below one folder,
//! of which `root/` is what kubeadm takes for the machine's file system.

mod components;
mod kubeadm;
mod kubeconfig;
mod kubectl;
mod manifests;
mod pods;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, sleep};

pub use self::manifests::{MANIFESTS, NAMESPACE};
use crate::host::namespace::Namespace;
use crate::host::process::{Process, Spawn};
use crate::programs::Programs;

/// The API server's name, known to the on-premises DNS alone; kubeadm writes it into what nodes are given.
pub const API_NAME: &str = "api.onprem.example";
/// The control plane's address in its network.
pub const API_ADDRESS: &str = "192.168.10.10";
pub const API_PORT: u16 = 6443;

const READY_WITHIN: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(200);

/// A machine for a control plane that stands alone.
pub fn machine() -> anyhow::Result<Namespace> {
    let machine = Namespace::create("cluster")?;
    machine.ip(&format!(
        "link add lan type bridge\naddress add {API_ADDRESS}/24 dev lan\nlink set lan up\n"
    ))?;
    Ok(machine)
}

/// A running control plane; it ends when this is dropped.
pub struct ControlPlane {
    programs: Programs,
    spawn: Spawn,
    root: PathBuf,
    admin: PathBuf,
    // Dropped in this order: whoever depends on another goes first.
    controller_manager: Process,
    api_server: Process,
    etcd: Process,
}

impl ControlPlane {
    /// Starts it on the machine that `spawn` starts processes on, which must have `API_ADDRESS` and a loopback interface.
    pub async fn start(programs: &Programs, folder: &Path, spawn: Spawn) -> anyhow::Result<Self> {
        let root = folder.join("root");
        let logs = folder.join("logs");
        for path in [&root, &logs] {
            std::fs::create_dir_all(path).with_context(|| format!("failed to create `{}`", path.display()))?;
        }
        let etcd = Process::start(
            components::etcd(programs, &folder.join("etcd")),
            &logs.join("etcd"),
            &spawn,
        )?;
        let kubeadm = kubeadm::Kubeadm::new(programs, &root, &spawn)?;
        kubeadm.make_credentials().await?;
        let admin = kubeconfig::admin_by_address(&root, &folder.join("admin.conf"))?;
        let api_server = Process::start(
            components::api_server(programs, &root),
            &logs.join("kube-apiserver"),
            &spawn,
        )?;
        let controller_manager = Process::start(
            components::controller_manager(programs, &root),
            &logs.join("kube-controller-manager"),
            &spawn,
        )?;
        let mut control_plane = Self {
            programs: programs.clone(),
            spawn,
            root,
            admin,
            controller_manager,
            api_server,
            etcd,
        };
        control_plane.wait_until_ready().await?;
        kubeadm.furnish().await?;
        control_plane.remove_first_token().await?;
        control_plane.remove_kube_proxy().await?;
        control_plane.check()?;
        Ok(control_plane)
    }

    /// The release that all of it is of.
    pub fn version(&self) -> &str {
        &self.programs.version
    }

    /// A kubeconfig that may do everything; it names the API server by address, so that it works without the on-premises DNS.
    pub fn admin_kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// The certificate of the cluster's authority, PEM.
    pub fn authority(&self) -> anyhow::Result<String> {
        kubeconfig::authority(&self.root)
    }

    /// An error if one of the processes has ended, with the last lines of its log.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.etcd.check()?;
        self.api_server.check()?;
        self.controller_manager.check()
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let end = Instant::now() + READY_WITHIN;
        loop {
            self.check().context("failed to start the control plane")?;
            match self.kubectl(&["get", "--raw", "/readyz"]).await {
                Ok(_) => return Ok(()),
                Err(_) if Instant::now() < end => sleep(POLL).await,
                Err(error) => {
                    let log = self.api_server.last_lines(20);
                    return Err(error.context(format!("the API server is not ready after {READY_WITHIN:?}; {log}")));
                }
            }
        }
    }

    /// kubeadm leaves a token for the first node, valid for a day: here every token is the provisioner's.
    async fn remove_first_token(&self) -> anyhow::Result<()> {
        let tokens = "--field-selector=type=bootstrap.kubernetes.io/token";
        self.kubectl(&["delete", "secret", "-n", "kube-system", tokens]).await?;
        Ok(())
    }
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ControlPlane")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
