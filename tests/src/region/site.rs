//! An instance without a machine: the real agent in a file tree and a network of its own, where the lab stands in for
//! kubeadm and systemctl. It starts and is killed in a moment, so it is what faults are tried on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::{Instant, sleep};

use super::{Region, until};
use crate::aws::cloud::Instance;
use crate::host::containment::SCRATCH;
use crate::host::process::Process;
use crate::host::room::Room;
use crate::stand_in::{self, Failure};
use crate::topology::user_space;
use crate::topology::vpc::Host;

const AGENT: &str = "/usr/bin/dynk8s-agent";
/// What a journey on the host's file tree must not find there.
const NOT_OURS: [&str; 5] = [
    "/etc/dynk8s",
    "/etc/kubernetes",
    "/var/lib/dynk8s",
    "/var/lib/kubelet",
    "/etc/hosts",
];

/// Where one instance's agent lives.
#[derive(Debug)]
pub struct Site {
    agent: Option<Process>,
    /// Carries the tunnel's interface, where the kernel does not; like the kernel, it outlives the agent.
    _carrier: Option<Process>,
    pub room: Room,
    host: Host,
    log: PathBuf,
}

impl Region {
    /// Furnishes a site for an instance; `more` is added to the agent's configuration.
    pub fn site(&self, instance: &Instance, more: &str) -> anyhow::Result<Site> {
        let [_, _, _, number] = instance.address.octets();
        let host = self
            .topology
            .vpc
            .host(&format!("site{number}"), &instance.mac, instance.address)?;
        let room = host.room()?;
        for path in NOT_OURS {
            room.remove(path)?;
        }
        room.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)?;
        room.install(&self.product.agent, AGENT)?;
        room.write("/etc/dynk8s/agent.toml", self.agent_configuration() + more, 0o644)?;
        room.write("/etc/dynk8s/ca.pem", self.authority.pem(), 0o644)?;
        stand_in::install(&room, &self.product.stand_in, self.control_plane.version())?;
        let log = Path::new(SCRATCH).join(format!("agent-{}.log", instance.id));
        let carrier = if self.topology.premises.gateway.is_in_user_space() {
            let log = Path::new(SCRATCH).join(format!("wireguard-go-{}.log", instance.id));
            let connects = |socket: &Path| room.run(|| user_space::connect(socket))?;
            Some(user_space::carry("dynk8s", &log, &room.spawner(), connects)?)
        } else {
            None
        };
        Ok(Site {
            agent: None,
            _carrier: carrier,
            room,
            host,
            log,
        })
    }
}

impl Site {
    /// Starts the agent, as its unit would.
    pub fn start(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(AGENT);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .arg("run");
        self.agent = Some(Process::start(command, &self.log, &self.room.spawner())?);
        Ok(())
    }

    /// Ends the agent without warning.
    pub fn kill(&mut self) {
        self.agent = None;
    }

    /// Lets kubeadm fail once, as if another kubelet ran already.
    pub fn fail_next_join(&self) -> anyhow::Result<()> {
        self.fail_next_join_with("[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use")
    }

    /// Lets kubeadm fail once with these words.
    pub fn fail_next_join_with(&self, complaint: &str) -> anyhow::Result<()> {
        let failure = Failure {
            complaint: complaint.to_owned(),
            exit_code: 1,
        };
        stand_in::fail_next_join(&self.room, &failure)
    }

    /// Lets kubeadm, and with it the kubelet, be of another release than the cluster.
    pub fn set_version(&self, version: &str) -> anyhow::Result<()> {
        stand_in::set_version(&self.room, version)
    }

    /// The agent's process.
    pub fn process(&self) -> anyhow::Result<u32> {
        let agent = self
            .agent
            .as_ref()
            .context("failed to find an agent that was not started")?;
        Ok(agent.id())
    }

    /// All that the agent has said so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits for the agent to give up, and returns the line that says why.
    pub async fn verdict(&mut self, within: Duration) -> anyhow::Result<String> {
        let end = Instant::now() + within;
        loop {
            let agent = self
                .agent
                .as_mut()
                .context("failed to wait for an agent that was not started")?;
            if agent.check().is_err() {
                self.agent = None;
                let log = self.log();
                let line = log.lines().rev().find(|it| it.contains("failed to"));
                return line
                    .map(str::to_owned)
                    .with_context(|| format!("the agent ended without an error line:\n{log}"));
            }
            if Instant::now() > end {
                bail!(
                    "the agent has not given up within {} s:\n{}",
                    within.as_secs(),
                    self.log()
                );
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until the agent's log says something.
    pub async fn says(&self, what: &str, within: Duration) -> anyhow::Result<()> {
        let said = async || Ok(self.log().contains(what).then_some(()));
        until(&format!("the agent says `{what}`"), within, said)
            .await
            .with_context(|| format!("failed to hear it; the agent says:\n{}", self.log()))
    }

    /// What the agent prints for a verb that only looks, such as `status`; an error if there is something to complain about.
    pub fn asks(&self, verb: &str) -> anyhow::Result<String> {
        let mut command = Command::new(AGENT);
        command.arg(verb);
        self.room.output(command)
    }

    /// The network that the agent lives in.
    pub fn host(&self) -> &Host {
        &self.host
    }
}
