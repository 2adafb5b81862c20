//! The Lease of the loop: of several replicas one acts, so that they do not get in each other's way.
//!
//! Nothing depends on it: between a replica that was paused and one that took over, two may act at once, and what must not
//! happen twice is guarded by names and resource versions.

mod decide;

use std::fs;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use self::decide::{LASTS, Step, decide};
use crate::api_server::fault::told;

/// The name of the Lease.
pub(super) const NAME: &str = "dynk8s-provisioner-reconcile";

/// How often the Lease is looked at or renewed.
const EVERY: Duration = Duration::from_secs(4);

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(4);

/// Takes part in who acts.
pub(super) struct Candidate {
    leases: Api<Lease>,
    me: String,
    acts: watch::Sender<bool>,
    seen: Option<Lease>,
    /// Since when the Lease has been as it is.
    since: Instant,
    /// When we wrote it last.
    renewed: Option<Instant>,
}

impl Candidate {
    /// A candidate, and whether it acts.
    pub(super) fn new(client: &Client, namespace: &str) -> (Self, watch::Receiver<bool>) {
        let (acts, acting) = watch::channel(false);
        let candidate = Self {
            leases: Api::namespaced(client.clone(), namespace),
            me: identity(),
            acts,
            seen: None,
            since: Instant::now(),
            renewed: None,
        };
        (candidate, acting)
    }

    /// Takes the Lease when it can be had, and renews it, for ever.
    pub(super) async fn run(mut self) {
        loop {
            self.attempt().await;
            sleep(EVERY).await;
        }
    }

    async fn attempt(&mut self) {
        match timeout(PATIENCE, self.step()).await {
            Ok(Ok(holds)) => self.announce(holds),
            Ok(Err(error)) => {
                warn!(error = told(&error), "failed to renew the Lease `{NAME}`");
                self.doubt();
            }
            Err(_) => self.doubt(),
        }
    }

    async fn step(&mut self) -> Result<bool, Error> {
        let found = self.leases.get_opt(NAME).await?;
        if version(found.as_ref()) != version(self.seen.as_ref()) {
            self.since = Instant::now();
        }
        self.seen = found;
        let parameters = PostParams::default();
        let written = match decide(self.seen.as_ref(), &self.me, self.since.elapsed(), Timestamp::now()) {
            Step::Wait => return Ok(false),
            Step::Create(lease) => self.leases.create(&parameters, &lease).await,
            Step::Replace(lease) => self.leases.replace(NAME, &parameters, &lease).await,
        };
        match written {
            Ok(lease) => {
                self.seen = Some(lease);
                self.since = Instant::now();
                self.renewed = Some(self.since);
                Ok(true)
            }
            Err(Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn announce(&self, holds: bool) {
        let changed = self.acts.send_if_modified(|it| std::mem::replace(it, holds) != holds);
        if changed {
            let holder = self.seen.as_ref().map(decide::holder).unwrap_or_default();
            info!(holder, acts = holds, "who acts has changed");
        }
    }

    /// Without an answer ours may have run out.
    fn doubt(&self) {
        if self.renewed.is_none_or(|it| it.elapsed() >= LASTS) {
            self.announce(false);
        }
    }
}

/// Each time that this replica begins to act.
pub(super) fn taken(acting: watch::Receiver<bool>) -> impl Stream<Item = ()> + Send + Sync + 'static {
    stream::unfold(acting, async |mut acting| {
        loop {
            acting.changed().await.ok()?;
            if *acting.borrow_and_update() {
                return Some(((), acting));
            }
        }
    })
}

/// Lets another act at once.
pub(super) async fn give_back(client: &Client, namespace: &str) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let giving = async {
        let lease = leases.get(NAME).await?;
        if decide::holder(&lease) == identity() {
            leases
                .replace(NAME, &PostParams::default(), &decide::released(&lease))
                .await?;
        }
        Ok::<_, Error>(())
    };
    // Whoever comes next finds out by itself, only later.
    match timeout(PATIENCE, giving).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!(error = told(&error), "failed to give the Lease `{NAME}` back"),
        Err(_) => warn!(
            "failed to give the Lease `{NAME}` back: no answer within {} s",
            PATIENCE.as_secs()
        ),
    }
}

fn version(lease: Option<&Lease>) -> Option<&str> {
    lease?.metadata.resource_version.as_deref()
}

/// The name of the host, which is the Pod's: a container that is started again in its Pod goes on at once.
fn identity() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
