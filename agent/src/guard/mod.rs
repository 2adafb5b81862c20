//! After the journey: this process stays, mostly asleep. It follows the tunnel's endpoint, keeps the names right, tells
//! systemd that it lives, and clears the node when AWS takes a spot instance back.

mod decide;
mod drain;
mod voice;

use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context as _;
use dynk8s_api::claim::Cluster;
use dynk8s_api::progress::Outcome;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tracing::{info, warn};

use crate::api_server::ApiServer;
use crate::claim::{Keys, Provisioner};
use crate::facts::{Facts, Imds, Interruption};
use crate::host::service;
use crate::host::watch::FolderWatch;
use crate::names;
use crate::report;
use crate::timeline::Recorder;
use crate::tunnel::{Kept, Tunnel};
use crate::uplink::Uplink;

use decide::TICK;
use voice::Voice;

/// How long one look may take, so that the watchdog is fed in time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever rewrites a file writes more than one of them.
const SETTLE: Duration = Duration::from_millis(200);

type Evacuation<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What is guarded, and by what means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ward<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) imds: &'a Imds,
    pub(crate) keys: &'a Keys,
    pub(crate) provisioner: &'a Provisioner,
    pub(crate) uplink: &'a Uplink,
    pub(crate) recorder: &'a Recorder,
    pub(crate) cluster: &'a Cluster,
    /// Whether pods are evicted when AWS takes the instance back.
    pub(crate) drain: bool,
}

/// Stays until the process is told to end. An error means that nothing can be guarded any more.
pub(crate) async fn stay(ward: Ward<'_>, tunnel: Tunnel) -> anyhow::Result<Infallible> {
    let folders: Vec<&Path> = names::FOLDERS.iter().map(Path::new).collect();
    let mut watch = FolderWatch::new(&folders)?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut evacuation: Option<Evacuation<'_>> = None;
    let mut guard = Guard {
        ward,
        tunnel,
        interrupted: false,
        of_tunnel: Voice::default(),
        of_names: Voice::default(),
    };
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                service::alive();
                guard.keep_tunnel().await;
                guard.keep_names().await;
                if let Some(notice) = guard.interruption().await {
                    evacuation = Some(Box::pin(evacuate(ward, notice, guard.tunnel.dns.clone())));
                }
            }
            changed = watch.changed() => {
                changed.context("failed to hear of changes to the host's names")?;
                sleep(SETTLE).await;
                guard.keep_names().await;
            }
            () = under_way(&mut evacuation) => evacuation = None,
        }
    }
}

struct Guard<'a> {
    ward: Ward<'a>,
    tunnel: Tunnel,
    interrupted: bool,
    of_tunnel: Voice,
    of_names: Voice,
}

impl Guard<'_> {
    async fn keep_tunnel(&mut self) {
        let kept = timeout(PATIENCE, self.tunnel.keep(self.ward.uplink)).await;
        match kept.context("it takes too long").and_then(|kept| kept) {
            Ok(Kept::Alive) => self.of_tunnel.is_well("the tunnel's other side answers again"),
            Ok(Kept::Followed(endpoint)) => {
                warn!("the tunnel's other side is silent, and its name leads to {endpoint} now: following it there");
            }
            Ok(Kept::Silent) => self
                .of_tunnel
                .complain("the tunnel's other side is silent, and its name leads where it led; looking on"),
            Err(error) => self
                .of_tunnel
                .complain(&format!("failed to look after the tunnel: {error:#}")),
        }
    }

    async fn keep_names(&mut self) {
        let Err(wrong) = names::check(&self.tunnel.dns) else {
            return;
        };
        let set = timeout(PATIENCE, names::set(&self.tunnel, &self.ward.facts.id)).await;
        let outcome = set.context("it takes too long").and_then(|set| set);
        self.of_names.complain(&match outcome {
            Ok(_) => format!("somebody has rewritten the host's names ({wrong:#}); they are right again"),
            Err(error) => format!("somebody has rewritten the host's names ({wrong:#}): {error:#}"),
        });
    }

    /// The notice that AWS takes the instance back, once.
    async fn interruption(&mut self) -> Option<Interruption> {
        if self.interrupted || !self.ward.facts.is_spot() {
            return None;
        }
        // A service that is silent for once is asked again with the next tick.
        let notice = timeout(PATIENCE, self.ward.imds.interruption()).await.ok()?.ok()??;
        self.interrupted = true;
        Some(notice)
    }
}

async fn under_way(evacuation: &mut Option<Evacuation<'_>>) {
    match evacuation {
        Some(evacuation) => evacuation.await,
        None => std::future::pending().await,
    }
}

/// Clears the node before it goes. Whatever fails here is said, and the rest is done all the same.
async fn evacuate(ward: Ward<'_>, notice: Interruption, resolvers: Vec<std::net::IpAddr>) {
    let Interruption { action, time } = notice;
    let text = format!("AWS takes this spot instance back: {action} at {time:.0}");
    warn!("{text}");
    service::status(&text);
    let id = &ward.facts.id;
    let api_server = ApiServer {
        cluster: ward.cluster,
        resolvers: &resolvers,
    };
    match api_server.cordon(id).await {
        Ok(()) => info!("the Node `{id}` takes no new pods"),
        Err(error) => warn!("{error:#}"),
    }
    ward.recorder.end(Outcome::Ready, Some(text));
    report::send(ward.provisioner, id, &ward.keys.claim, ward.recorder).await;
    if ward.drain
        && let Err(error) = drain::drain(api_server, id, time).await
    {
        warn!("failed to drain the Node `{id}`: {error:#}");
    }
}
