//! A cluster with the manifests applied, and the two accounts.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use dynk8s_lab::cluster::{self, API_ADDRESS, ControlPlane, NAMESPACE};
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::programs::Programs;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

pub(crate) const INSTANCE: &str = "i-0123456789abcdef0";
/// The API server learns of policies by a watch.
const PATIENCE: Duration = Duration::from_secs(15);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Admin,
    Serve,
    Reconcile,
}

pub(crate) struct Stage {
    // Dropped before the runtime and the namespace that it lives in.
    control_plane: ControlPlane,
    runtime: Mutex<Runtime>,
    pub(crate) provisioner: PathBuf,
    /// A folder with the definitions that the Prometheus operator brings.
    pub(crate) definitions: PathBuf,
    pub(crate) machine: Namespace,
}

impl Stage {
    pub(crate) fn set(programs: &Programs, provisioner: PathBuf, definitions: PathBuf) -> anyhow::Result<Self> {
        let machine = cluster::machine()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let folder = Path::new(SCRATCH).join("cluster");
        let control_plane = runtime.block_on(async {
            let control_plane = ControlPlane::start(programs, &folder, machine.spawner()).await?;
            control_plane.install().await?;
            anyhow::Ok(control_plane)
        })?;
        let stage = Self {
            control_plane,
            runtime: Mutex::new(runtime),
            provisioner,
            definitions,
            machine,
        };
        stage.log_both_in()?;
        Ok(stage)
    }

    /// After somebody has deleted the namespace, and the accounts with it.
    pub(crate) fn install_again(&self) -> anyhow::Result<()> {
        self.block_on(self.control_plane.install())?;
        self.log_both_in()
    }

    fn log_both_in(&self) -> anyhow::Result<()> {
        ["serve", "reconcile"].iter().try_for_each(|half| self.log_in(half))
    }

    fn log_in(&self, half: &str) -> anyhow::Result<()> {
        let (server, name) = (
            format!("https://{API_ADDRESS}:6443"),
            format!("dynk8s-provisioner-{half}"),
        );
        let making = self.control_plane.service_account_kubeconfig(NAMESPACE, &name, &server);
        let kubeconfig = self.block_on(making)?;
        Ok(std::fs::write(Path::new(SCRATCH).join(half), kubeconfig)?)
    }

    pub(crate) fn admin_kubeconfig(&self) -> &Path {
        self.control_plane.admin_kubeconfig()
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        runtime.block_on(work)
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.block_on(self.control_plane.kubectl(arguments))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(
            &self.kubectl(&[arguments, &["-o", "json"]].concat())?,
        )?)
    }

    fn ask(&self, who: Who, arguments: &str) -> anyhow::Result<String> {
        let kubeconfig = match who {
            Who::Admin => None,
            Who::Serve => Some("serve"),
            Who::Reconcile => Some("reconcile"),
        };
        let flag = kubeconfig.map(|it| format!("--kubeconfig={}", Path::new(SCRATCH).join(it).display()));
        let words: Vec<&str> = arguments.split_whitespace().chain(flag.as_deref()).collect();
        self.kubectl(&words)
    }

    /// Something that must be possible.
    pub(crate) fn allowed(&self, who: Who, arguments: &str) -> anyhow::Result<String> {
        self.ask(who, arguments)
            .with_context(|| format!("{who:?} may not `{arguments}`"))
    }

    /// Something that must be refused with these words, now or as soon as the policies are known.
    pub(crate) fn refused(&self, who: Who, arguments: &str, words: &str) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.ask(who, arguments) {
                Err(error) if format!("{error:#}").contains(words) => return Ok(()),
                Err(error) => {
                    return Err(error.context(format!("{who:?} may not `{arguments}`, but not because `{words}`")));
                }
                Ok(_) if Instant::now() < end => sleep(Duration::from_millis(200)),
                Ok(answer) => bail!("{who:?} may `{arguments}`: {answer}"),
            }
        }
    }
}

/// Writes an object to a file of its own, for kubectl.
pub(crate) fn file(object: &Value) -> anyhow::Result<String> {
    thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    let number = NUMBER.replace(NUMBER.get() + 1);
    let name = format!("object-{:?}-{number}.json", std::thread::current().id());
    let path = Path::new(SCRATCH).join(name.replace(['(', ')'], ""));
    std::fs::write(&path, object.to_string())?;
    Ok(path.display().to_string())
}

/// The controller manager checks the types in policies and leaves its warnings in their status.
pub(crate) fn the_policies_are_sound(stage: &Stage) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let policies = stage.json(&["get", "validatingadmissionpolicies"])?;
        let policies = policies["items"].as_array().context("no list")?.clone();
        ensure!(policies.len() == 7, "{} policies", policies.len());
        let checked = policies.iter().all(|it| it["status"]["typeChecking"].is_object());
        if checked || Instant::now() > end {
            ensure!(checked, "not checked within {PATIENCE:?}");
            let warned = policies
                .iter()
                .find(|it| it["status"]["typeChecking"]["expressionWarnings"].is_array());
            ensure!(warned.is_none(), "{warned:?}");
            return Ok(());
        }
        sleep(Duration::from_millis(200));
    }
}
