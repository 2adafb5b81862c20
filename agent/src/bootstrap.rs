//! The plot: facts -> claim -> tunnel -> names -> join -> ready, and then guard: this process stays.
//!
//! Each step takes the value that proves the one before. Every step is safe to run again, so a crash or a restart at any
//! moment mends what is there. After a reboot, a machine that has joined skips the claim and the join.

mod attempts;
mod give_up;
mod machine;

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use dynk8s_api::Secret;
use dynk8s_api::claim::{ClaimAnswer, Cluster};
use dynk8s_api::progress::Outcome;
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::around;
use crate::config::Settings;
use crate::guard;
use crate::host::{files, lock, service};
use crate::join::{self, Joiner};
use crate::names::{self, Names};
use crate::ready::Standing;
use crate::step::step;
use crate::timeline::{self, Recorder};
use crate::tunnel::Tunnel;

pub use give_up::give_up;
use machine::Machine;

pub(crate) const RUN_FOLDER: &str = "/run/dynk8s";
pub(crate) const LOCK: &str = "/run/dynk8s/lock";

/// Until a Node that was late is seen to be Ready, in the background.
const LATE: Duration = Duration::from_hours(24);

/// Takes this machine from wherever it stands to a Ready node, and stays until it is told to end.
pub async fn run(settings: &Settings) -> anyhow::Result<()> {
    files::public_folder(Path::new(RUN_FOLDER))?;
    let _lock = lock::take(Path::new(LOCK))?;
    let recorder = Recorder::begin(Path::new(timeline::PATH), Timestamp::now());
    tokio::select! {
        outcome = journey(settings, &recorder) => outcome,
        ended = service::asked_to_end() => ended.context("failed to wait for a signal"),
    }
}

/// Says in one line why a journey failed.
pub fn complain(failure: &anyhow::Error) {
    let text = format!("{failure:#}");
    service::status(&text);
    error!("{text}");
}

async fn journey(settings: &Settings, recorder: &Recorder) -> anyhow::Result<()> {
    let machine = match Machine::identify(settings, recorder).await {
        Ok(machine) => machine,
        Err(error) => {
            recorder.end(Outcome::Failed, Some(format!("{error:#}")));
            return Err(error);
        }
    };
    let outcome = async {
        let node = Box::pin(machine.become_node()).await?;
        machine.guard(node).await
    };
    let Err(error) = outcome.await;
    recorder.end(Outcome::Failed, Some(format!("{error:#}")));
    machine.report().await;
    Err(error)
}

/// What the journey has made of this machine.
struct Node {
    tunnel: Tunnel,
    cluster: Cluster,
    standing: Standing,
}

impl Machine<'_> {
    async fn become_node(&self) -> anyhow::Result<Node> {
        if let Some(kept) = self.joined_before()? {
            info!("this machine has joined before; bringing its tunnel and names back");
            let tunnel = self.tunnel(&kept.wireguard).await?;
            self.names(&tunnel, &kept.cluster).await?;
            join::preflight::mend_again(self.settings.keep_swap).await?;
            join::let_rotate().await?;
            service::ready();
            return self.ready(tunnel, kept.cluster).await;
        }
        let joined_by = Instant::now() + self.settings.deadlines.together();
        let (version, answer) = self.claim().await?;
        let tunnel = self.tunnel(&answer.wireguard).await?;
        let names = self.names(&tunnel, &answer.cluster).await?;
        // The kubelet is ordered after this unit, and kubeadm starts the kubelet: waiting longer would be a deadlock.
        service::ready();
        self.report().await;
        let (answer, tunnel) = self.join(&version, answer, tunnel, names, joined_by).await?;
        self.ready(tunnel, answer.cluster).await
    }

    /// **claim**: what it takes to join, for the kubelet of this version.
    async fn claim(&self) -> anyhow::Result<(String, ClaimAnswer)> {
        let work = async {
            let version = join::version().await?;
            if join::left_overs() {
                info!("resetting what an earlier join left behind");
                self.reset().await?;
            }
            let within = self.settings.deadlines.claim;
            let claimant = self.claimant(&version);
            let answer = claimant.claim(self.state.spent()?, within, self.recorder).await?;
            self.state.keep(&answer)?;
            Ok((version, answer))
        };
        step(self.recorder, "claim", work, |(_, it)| {
            format!("{} handed out generation {}", self.provisioner.host(), it.generation)
        })
        .await
    }

    /// **tunnel**: a WireGuard interface whose other side has answered.
    async fn tunnel(&self, wireguard: &Secret) -> anyhow::Result<Tunnel> {
        let work = self.bring_up(wireguard);
        step(self.recorder, "tunnel", work, |it| {
            format!("{} answers to {}", it.peer, it.address)
        })
        .await
    }

    /// **names**: only the on-premises resolvers, proven first.
    async fn names(&self, tunnel: &Tunnel, cluster: &Cluster) -> anyhow::Result<Names> {
        let deadline = Instant::now() + self.settings.deadlines.names;
        let work = names::switch(tunnel, cluster, &self.facts.id, deadline, self.recorder);
        let servers = tunnel
            .dns
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        step(self.recorder, "names", work, |_| format!("only {servers} is asked")).await
    }

    /// **join**: `kubeadm join`, with fresh material for each try.
    async fn join(
        &self,
        version: &str,
        answer: ClaimAnswer,
        tunnel: Tunnel,
        names: Names,
        by: Instant,
    ) -> anyhow::Result<(ClaimAnswer, Tunnel)> {
        let deadline = by.min(Instant::now() + self.settings.deadlines.join);
        let work = async {
            let joiner = Joiner::prepare(
                &self.facts,
                &self.keys.kubelet,
                version,
                self.settings,
                &self.state,
                names,
            )
            .await?;
            let brought = self.join_until(deadline, &joiner, version, answer, tunnel).await?;
            // From here on a start brings back what is there: a reset would take a good node apart.
            self.state.note_joined()?;
            join::let_rotate().await?;
            Ok(brought)
        };
        step(self.recorder, "join", work, |(answer, _)| {
            format!("joined {}", answer.cluster.server)
        })
        .await
    }

    /// **ready**: the Node is there, ours, and Ready. Not being Ready in time is a warning, not a death.
    async fn ready(&self, tunnel: Tunnel, cluster: Cluster) -> anyhow::Result<Node> {
        let deadline = Instant::now() + self.settings.deadlines.ready;
        let watch = self.watch(&tunnel, &cluster);
        let work = watch.wait(deadline, self.recorder);
        let standing = step(self.recorder, "ready", work, |it| match it {
            Standing::Ready => format!("the Node `{}` is Ready", self.facts.id),
            _ => format!("the Node `{}` is there, but not Ready", self.facts.id),
        })
        .await?;
        if let Standing::NotReady(why) = &standing {
            warn!(
                "the Node `{}` is not Ready in time: {why}; still waiting",
                self.facts.id
            );
        }
        Ok(Node {
            tunnel,
            cluster,
            standing,
        })
    }

    /// **guard**: stays, and waits for a Node that was late.
    async fn guard(&self, node: Node) -> anyhow::Result<Infallible> {
        let Node {
            tunnel,
            cluster,
            standing,
        } = node;
        let guarded = tunnel.clone();
        let watch = self.watch(&guarded, &cluster);
        let arrives = async {
            let late = match standing {
                Standing::NotReady(_) => watch.wait(Instant::now() + LATE, self.recorder).await?,
                in_time => in_time,
            };
            if let Standing::NotReady(why) = late {
                bail!(
                    "ready: failed to see the Node `{}` Ready within {LATE:?}: {why}",
                    self.facts.id
                );
            }
            self.recorder.end(Outcome::Ready, None);
            self.report().await;
            match around::keep_looking(watch.api_server, self.recorder, async || self.report().await).await {}
        };
        tokio::select! {
            outcome = guard::stay(self.ward(&cluster), tunnel) => outcome,
            outcome = arrives => outcome,
        }
    }
}
