//! Replicas of `reconcile`, each on a host of its own as Pods are: whichever holds the Lease acts, the other watches.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use dynk8s_lab::cluster::NAMESPACE;
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::process::Process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::metrics::{Samples, samples};
use crate::stage::{Stage, Who, file};
use crate::watching::soon;

const CONFIGURATION: &str = r#"
cluster = { server = "https://api.onprem.example:6443" }
sns = { topics = ["arn:aws:sns:eu-central-1:123456789012:dynk8s"] }
times = { key_cooldown_seconds = 3 }

[[node_group]]
name = "burst"
accounts = ["123456789012"]
regions = ["eu-central-1"]
labels = { "node-role.kubernetes.io/burst" = "" }
"#;

/// What each may write who takes part: the Lease, and the question about its own rights.
const EVERYBODY: [&str; 2] = ["leases", "subjectaccessreviews"];

pub(crate) struct Replica {
    process: Process,
    host: String,
    pub(crate) port: u16,
    log: PathBuf,
}

impl Replica {
    pub(crate) fn start(stage: &Stage, host: &str, port: u16) -> anyhow::Result<Self> {
        let log = Path::new(SCRATCH).join(host).with_extension("log");
        let configuration = log.with_extension("toml");
        let health = format!("health_listen = \"127.0.0.1:{port}\"\n{CONFIGURATION}");
        std::fs::write(&configuration, health)?;
        let mut command = Command::new(&stage.provisioner);
        command
            .arg("reconcile")
            .arg("--config")
            .arg(&configuration)
            .env("KUBECONFIG", Path::new(SCRATCH).join("reconcile"));
        Ok(Self {
            process: Process::start(command, &log, &stage.machine.host_spawner(host))?,
            host: host.to_owned(),
            port,
            log,
        })
    }

    pub(crate) fn works(&mut self) -> bool {
        self.process.check().is_ok()
    }

    /// All that it has said.
    pub(crate) fn said(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    pub(crate) fn last_lines(&self) -> String {
        self.process.last_lines(30)
    }

    /// Leaves nothing for the next of its name.
    pub(crate) fn forget(self) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(&self.log)?)
    }

    /// Asks it to end, as the kubelet does.
    fn ask_to_end(&self) -> anyhow::Result<()> {
        let id = i32::try_from(self.process.id()).context("no process id")?;
        Ok(kill(Pid::from_raw(id), Signal::SIGTERM)?)
    }
}

/// After a life in which both took part: one has done everything. Asked to end, it lets the other act at once.
pub(crate) fn only_the_holder_acts(stage: &Stage, both: [Replica; 2]) -> anyhow::Result<()> {
    let holder = lease_holder(stage)?;
    let [one, two] = both;
    let (mut acts, watches) = if one.host == holder { (one, two) } else { (two, one) };
    ensure!(acts.host == holder, "`{holder}` holds the Lease");
    let done = written(&samples(stage, acts.port)?);
    ensure!(done.len() >= 5, "`{holder}` has only written {done:?}");
    let done = written(&samples(stage, watches.port)?);
    ensure!(
        done.is_empty(),
        "`{}` does not hold the Lease, and has written {done:?}",
        watches.host
    );

    acts.ask_to_end()?;
    soon(|| {
        let holder = lease_holder(stage)?;
        let log = acts.last_lines();
        ensure!(holder == watches.host, "`{holder}` still holds the Lease: {log}");
        Ok(())
    })?;
    let another = "i-0eeeeeeeeeeeeeee0";
    let worker = json!({
        "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": another, "namespace": NAMESPACE},
        "spec": {"instanceId": another, "wished": "gone"},
    });
    stage.allowed(Who::Admin, &format!("create -f {}", file(&worker)?))?;
    soon(|| {
        let worker = stage.json(&["get", "worker", "-n", NAMESPACE, another])?;
        ensure!(worker["status"]["phase"] == "Gone", "{worker}");
        Ok(())
    })?;
    let done = written(&samples(stage, watches.port)?);
    ensure!(
        done.iter().any(|it| it.contains("workers")),
        "`{}` has written {done:?}",
        watches.host
    );
    soon(|| {
        ensure!(!acts.works(), "`{}` works on; {}", acts.host, acts.last_lines());
        Ok(())
    })
}

fn lease_holder(stage: &Stage) -> anyhow::Result<String> {
    let lease = stage.json(&["get", "lease", "-n", NAMESPACE, "dynk8s-provisioner-reconcile"])?;
    Ok(lease["spec"]["holderIdentity"]
        .as_str()
        .context("no holder")?
        .to_owned())
}

/// The calls that change something which is not for everybody.
fn written(samples: &Samples) -> Vec<String> {
    let is_write = |it: &str| {
        ["create", "update", "patch", "delete"]
            .iter()
            .any(|verb| it.contains(&format!("verb=\"{verb}\"")))
    };
    let is_free = |it: &str| {
        EVERYBODY
            .iter()
            .any(|resource| it.contains(&format!("resource=\"{resource}\"")))
    };
    let calls = samples.keys().filter(|it| it.starts_with("dynk8s_api_requests_total{"));
    // What is denied is no write: each asks so whether the policies hold.
    let done = calls.filter(|it| it.contains("outcome=\"ok\""));
    done.filter(|it| is_write(it) && !is_free(it)).cloned().collect()
}
