//! Asks EC2 about the instances of all Workers now and then: SNS gives up after a minute, and what it did not bring would
//! never be known. It needs credentials; without them nothing that was handed out is freed by silence.
//!
//! Workers of which only EC2 can tell the node group are asked about at once.

mod apply;
pub(crate) mod decide;
mod render;
mod settling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use kube::runtime::reflector::Store;
use kube::{Api, Client};
use tokio::time::sleep;
use tracing::{error, info, warn};

use self::decide::{Missed, Subject, Verdict};
use self::settling::Settling;
use crate::config::{Config, Live};
use crate::reconcile::Agreement;
use crate::worker::{Described, Worker};
use crate::{ec2, fetch};

/// How often it is looked whether there is something to ask.
const EVERY: Duration = Duration::from_secs(10);

/// How long AWS may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What others may know of the resync.
#[derive(Clone, Debug, Default)]
pub struct Done(Arc<Outcome>);

#[derive(Debug, Default)]
struct Outcome {
    settling: Mutex<Settling>,
    complains: AtomicBool,
}

impl Done {
    /// Notes how the labels of keys and the Workers agree; whether EC2 has told who is right since they did not.
    pub(crate) fn settles(&self, seen: Agreement) -> bool {
        self.settling().see(seen, Instant::now())
    }

    /// Whether the last time was in vain, or something must be looked at.
    pub fn complains(&self) -> bool {
        self.0.complains.load(Ordering::Relaxed)
    }

    fn settling(&self) -> MutexGuard<'_, Settling> {
        self.0.settling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The resync of a namespace.
pub struct Resync {
    api: Api<Worker>,
    workers: Store<Worker>,
    config: Live,
    done: Done,
    /// Made when the configuration first says that there are credentials.
    client: Option<ec2::Client>,
    /// Whose the credentials are.
    account: Option<String>,
    missed: Missed,
    last: Option<Instant>,
    /// What was said last, so that it is said once.
    complaint: Option<String>,
}

impl std::fmt::Debug for Resync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resync")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

impl Resync {
    /// A resync of the Workers that a watch keeps in `workers`.
    pub fn new(client: Client, namespace: &str, workers: Store<Worker>, config: Live) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            workers,
            config,
            done: Done::default(),
            client: None,
            account: None,
            missed: Missed::default(),
            last: None,
            complaint: None,
        }
    }

    /// Tells when all instances have been asked about.
    pub fn done(&self) -> Done {
        self.done.clone()
    }

    /// Asks until it is dropped.
    pub async fn run(mut self) {
        loop {
            if self.workers.wait_until_ready().await.is_err() {
                return;
            }
            let config = self.config.get();
            if let Some(aws) = &config.aws {
                let began = Instant::now();
                let is_due = self.last.is_none_or(|it| it.elapsed() >= aws.resync);
                let whole = is_due || self.done.settling().asks(began);
                let outcome = self.pass(&config, whole).await;
                self.conclude(whole.then_some(began), outcome);
            }
            sleep(EVERY).await;
        }
    }

    /// `whole` is when a pass began that asked about all instances.
    fn conclude(&mut self, whole: Option<Instant>, outcome: anyhow::Result<Option<String>>) {
        let complaint = match outcome {
            Ok(alarm) => {
                if let Some(began) = whole {
                    self.last = Some(Instant::now());
                    self.done.settling().asked(began);
                }
                alarm
            }
            Err(error) => Some(format!("{error:#}")),
        };
        // One that only asks about a few does not know what the whole complains of.
        if whole.is_none() && complaint.is_none() {
            return;
        }
        match &complaint {
            Some(text) if self.complaint.as_ref() != Some(text) => {
                error!(reason = text, "instances are not compared with EC2");
            }
            None if self.complaint.is_some() => info!("instances are compared with EC2 again"),
            _ => {}
        }
        self.done.0.complains.store(complaint.is_some(), Ordering::Relaxed);
        self.complaint = complaint;
    }

    /// Asks about all Workers, or about those that wait for it. What an operator must look at is returned.
    async fn pass(&mut self, config: &Config, whole: bool) -> anyhow::Result<Option<String>> {
        let workers = self.workers.state();
        let subjects = decide::subjects(&workers, config, whole);
        if subjects.is_empty() {
            return Ok(None);
        }
        let account = self.account(config).await?;
        if !config.node_groups.iter().any(|it| it.accounts.contains(&account)) {
            let text = format!("the credentials are of account {account}, which no node group lists; nothing is freed");
            return Ok(Some(text));
        }
        let subjects: Vec<Subject<'_>> = subjects.into_iter().filter(|it| it.may_be_of(&account)).collect();
        let found = self.describe(config, &subjects).await?;
        let verdict = decide::decide(&subjects, &found, whole.then_some(&mut self.missed), Timestamp::now());
        self.carry_out(config, verdict).await
    }

    async fn carry_out(&self, config: &Config, verdict: Verdict) -> anyhow::Result<Option<String>> {
        for (instance, described) in verdict.describe {
            info!(%instance, state = %described.state, "described by EC2");
            for fault in render::refused(config, &described) {
                warn!(%instance, fault, "the node does not get what a tag of its Auto Scaling group says");
            }
            let written = apply::describe(&self.api, &instance, &described).await;
            written.inspect_err(|error| unwritten(&instance, error))?;
        }
        for (instance, why) in verdict.gone {
            warn!(%instance, "gone, and SNS did not say so: {why}");
            let written = apply::bury(&self.api, &instance).await;
            written.inspect_err(|error| unwritten(&instance, error))?;
        }
        Ok(verdict.alarm)
    }

    async fn account(&mut self, config: &Config) -> anyhow::Result<String> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        let region = config.node_groups.iter().flat_map(|it| &it.regions).next();
        let region = region.context("failed to find a region to ask in")?;
        let client = match self.client.take() {
            Some(client) => client,
            None => ec2::Client::new(fetch::client(PATIENCE)?, ec2::chain(region)),
        };
        let account = self.client.insert(client).account(region).await?;
        info!(account, "AWS credentials found");
        Ok(self.account.insert(account).clone())
    }

    async fn describe(&self, config: &Config, subjects: &[Subject<'_>]) -> anyhow::Result<BTreeMap<String, Described>> {
        let client = self.client.as_ref().context("failed to find the client of EC2")?;
        let mut found = BTreeMap::new();
        let regions: BTreeSet<&String> = config.node_groups.iter().flat_map(|it| &it.regions).collect();
        for region in regions {
            let asked: Vec<String> = subjects
                .iter()
                .filter(|it| it.may_be_in(region))
                .map(Subject::id)
                .collect();
            if asked.is_empty() {
                continue;
            }
            let instances = client.instances(region, &asked).await?;
            let groups = render::groups_to_ask(config, &instances);
            let tags = client.group_tags(region, &groups).await?;
            for instance in instances {
                let described = render::described(config, &instance, region, &tags, Timestamp::now());
                found.insert(instance.id, described);
            }
        }
        Ok(found)
    }
}

/// The pass ends with it, and its complaint names no instance in a field of its own.
fn unwritten(instance: &str, error: &anyhow::Error) {
    warn!(%instance, error = format!("{error:#}"), "the rest is asked about again");
}
