//! Two replicas of `reconcile` with its own account's rights, killed, started again, and paused until the other has taken over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::process::{Process, Spawn};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::RngExt as _;
use rand::rngs::StdRng;

use crate::stage::{Stage, kubeconfig};

const CONFIGURATION: &str = r#"
cluster = { server = "https://api.onprem.example:6443", look = "off" }
sns = { topics = ["arn:aws:sns:eu-central-1:123456789012:dynk8s"] }
times = { key_cooldown_seconds = 3 }

[[node_group]]
name = "burst"
accounts = ["123456789012"]
regions = ["eu-central-1"]
"#;

pub(crate) struct Replicas {
    both: [Replica; 2],
    program: PathBuf,
    spawn: Spawn,
    pub(crate) counts: BTreeMap<&'static str, u32>,
}

struct Replica {
    port: u16,
    log: PathBuf,
    state: State,
    /// When something happens to it next.
    next: Instant,
}

enum State {
    Dead,
    Works(Process),
    Paused(Process),
}

impl Replicas {
    pub(crate) fn new(stage: &Stage) -> Self {
        let replica = |port| Replica {
            port,
            log: Path::new(SCRATCH).join(format!("replica-{port}.log")),
            state: State::Dead,
            next: Instant::now(),
        };
        Self {
            both: [replica(8082), replica(8083)],
            program: stage.provisioner.clone(),
            spawn: stage.machine.spawner(),
            counts: BTreeMap::new(),
        }
    }

    /// Does to each what its time has come for.
    pub(crate) fn turn(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        self.check()?;
        let pauses = random.random_bool(0.3);
        let wait = random.random_range(0..10);
        for replica in self.both.iter_mut().filter(|it| it.next <= Instant::now()) {
            let (state, what, seconds) = match std::mem::replace(&mut replica.state, State::Dead) {
                State::Dead => (
                    State::Works(replica.start(&self.program, &self.spawn)?),
                    "starts",
                    4 + 2 * wait,
                ),
                // The other one acts when the Lease has run out, and this one still believes that it does.
                State::Works(process) if pauses => {
                    (State::Paused(signal(process, Signal::SIGSTOP)?), "pauses", 16 + wait)
                }
                State::Paused(process) => (State::Works(signal(process, Signal::SIGCONT)?), "resumptions", 4 + wait),
                State::Works(process) => {
                    drop(signal(process, Signal::SIGKILL)?);
                    (State::Dead, "kills", wait / 2)
                }
            };
            replica.state = state;
            replica.next = Instant::now() + Duration::from_secs(seconds);
            *self.counts.entry(what).or_default() += 1;
        }
        Ok(())
    }

    /// From now on nothing happens to them.
    pub(crate) fn all_work(&mut self) -> anyhow::Result<()> {
        for replica in &mut self.both {
            replica.state = State::Works(match std::mem::replace(&mut replica.state, State::Dead) {
                State::Dead => replica.start(&self.program, &self.spawn)?,
                State::Works(process) => process,
                State::Paused(process) => signal(process, Signal::SIGCONT)?,
            });
        }
        Ok(())
    }

    /// Whoever works has not ended by itself.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        self.both.iter_mut().try_for_each(|it| match &mut it.state {
            State::Works(process) | State::Paused(process) => process.check(),
            State::Dead => Ok(()),
        })
    }

    pub(crate) fn have_not_panicked(&self) -> anyhow::Result<()> {
        for replica in &self.both {
            let said = std::fs::read_to_string(&replica.log)?;
            let line = said
                .lines()
                .find(|it| it.contains("panicked") || it.contains("forbidden"));
            ensure!(line.is_none(), "{line:?}");
        }
        Ok(())
    }
}

impl Replica {
    fn start(&self, program: &Path, spawn: &Spawn) -> anyhow::Result<Process> {
        let configuration = self.log.with_extension("toml");
        let health = format!("health_listen = \"127.0.0.1:{}\"\n{CONFIGURATION}", self.port);
        std::fs::write(&configuration, health)?;
        let mut command = Command::new(program);
        command
            .arg("reconcile")
            .arg("--config")
            .arg(&configuration)
            .env("KUBECONFIG", kubeconfig());
        Process::start(command, &self.log, spawn)
    }
}

fn signal(process: Process, signal: Signal) -> anyhow::Result<Process> {
    let id = i32::try_from(process.id()).context("no process id")?;
    kill(Pid::from_raw(id), signal).with_context(|| format!("failed to send {signal} to a replica"))?;
    Ok(process)
}
