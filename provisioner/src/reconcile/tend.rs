//! What belongs to no single Worker: orphans, and the state of the pool.

use std::collections::BTreeMap;
use std::time::Duration;

use dynk8s_api::InstanceId;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client, Error, ResourceExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, timeout};
use tracing::{info, warn};

use super::census::copies;
use super::decide::{Orphan, orphans};
use super::render;
use super::watch::Stores;
use crate::api_server::fault::told;
use crate::commands::keys::decide::inventory::{Entry, State, inventory};
use crate::names::{ADOPTED_ANNOTATION, INSTANCE_LABEL, QUARANTINE_LABEL, TOKEN_NAMESPACE};
use crate::worker::{Wish, Worker, WorkerSpec};

/// How often it is looked after.
const EVERY: Duration = Duration::from_secs(5);

/// How often the pool is looked through for what an operator should know.
const TELLS_EVERY: Duration = Duration::from_mins(1);

/// A pool with fewer free keys than this is nearly empty.
const FEW: usize = 2;

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks after it.
pub(super) struct Tender {
    workers: Api<Worker>,
    secrets: Api<Secret>,
    tokens: Api<Secret>,
    /// Join Secrets that the cluster has deleted together with their Workers.
    deleted: mpsc::UnboundedReceiver<Orphan>,
    waiting: Vec<Orphan>,
    /// The faults of keys that have been told.
    told: BTreeMap<String, String>,
    shortage: Option<String>,
}

impl Tender {
    pub(super) fn new(client: &Client, namespace: &str, deleted: mpsc::UnboundedReceiver<Orphan>) -> Self {
        Self {
            workers: Api::namespaced(client.clone(), namespace),
            secrets: Api::namespaced(client.clone(), namespace),
            tokens: Api::namespaced(client.clone(), TOKEN_NAMESPACE),
            deleted,
            waiting: Vec::new(),
            told: BTreeMap::new(),
            shortage: None,
        }
    }

    /// Tends for ever; `acts` says whether this replica may change anything now.
    pub(super) async fn run(mut self, stores: &Stores, acts: impl Fn() -> bool) {
        let mut ticks = interval(EVERY);
        let mut told = None;
        loop {
            ticks.tick().await;
            if stores.ready().await.is_err() {
                return;
            }
            if told.is_none_or(|it: Instant| it.elapsed() >= TELLS_EVERY) {
                told = Some(Instant::now());
                let (keys, workers, nodes) = (copies(&stores.keys), copies(&stores.workers), copies(&stores.nodes));
                self.tell(&inventory(&keys, &workers, &nodes));
            }
            while let Ok(orphan) = self.deleted.try_recv() {
                self.waiting.push(orphan);
            }
            if acts() {
                self.tend(stores).await;
            } else {
                self.waiting.clear();
            }
        }
    }

    async fn tend(&mut self, stores: &Stores) {
        let workers = stores.workers.state();
        let known = |name: &str| workers.iter().any(|it| it.metadata.name.as_deref() == Some(name));
        let (keys, joins) = (stores.keys.state(), stores.joins.state());
        let mut found = orphans(keys.iter().map(AsRef::as_ref), joins.iter().map(AsRef::as_ref), known);
        let waiting = std::mem::take(&mut self.waiting);
        found.extend(
            waiting
                .into_iter()
                .filter(|it| matches!(it, Orphan::Join { instance, .. } if !known(instance.as_str()))),
        );
        for orphan in found {
            let of = orphan.whose().to_owned();
            match timeout(PATIENCE, self.mend(orphan)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(
                    instance = of,
                    error = told(&error),
                    "failed to look after what has no Worker"
                ),
                Err(_) => warn!(
                    instance = of,
                    "failed to look after what has no Worker within {PATIENCE:?}"
                ),
            }
        }
    }

    async fn mend(&self, orphan: Orphan) -> Result<(), Error> {
        match orphan {
            Orphan::Instance { instance, key } => self.adopt(&instance, &key).await,
            Orphan::Join {
                instance,
                token,
                resource_version,
            } => {
                let name = render::token_name(&token);
                gone(self.tokens.delete(&name, &DeleteParams::default()).await.map(drop))?;
                let as_seen = DeleteParams::default().preconditions(Preconditions {
                    resource_version: Some(resource_version),
                    uid: None,
                });
                gone(self.secrets.delete(instance.as_str(), &as_seen).await.map(drop))?;
                info!(instance = %instance, "the token of an instance without a Worker is deleted");
                Ok(())
            }
            Orphan::Nobody { .. } => Ok(()),
        }
    }

    /// Makes the Worker of an instance whose name a key bears, if it still does.
    async fn adopt(&self, instance: &InstanceId, key: &str) -> Result<(), Error> {
        let found = self.secrets.get_metadata_opt(key).await?;
        let holder = found.and_then(|it| it.labels().get(INSTANCE_LABEL).cloned());
        if holder.as_deref() != Some(instance.as_str()) {
            return Ok(());
        }
        let spec = WorkerSpec {
            instance_id: instance.to_string(),
            wished: Wish::Running,
            forced: false,
        };
        let mut worker = Worker::new(instance.as_str(), spec);
        worker.metadata.annotations = Some(BTreeMap::from([(ADOPTED_ANNOTATION.to_owned(), key.to_owned())]));
        match self.workers.create(&PostParams::default(), &worker).await {
            Err(Error::Api(status)) if status.is_already_exists() => return Ok(()),
            made => made?,
        };
        warn!(instance = %instance, key, "adopted: a key names the instance, and it had no Worker");
        Ok(())
    }

    /// Says once what is wrong with the pool, and again only when it has changed.
    fn tell(&mut self, entries: &[Entry]) {
        let free = entries.iter().filter(|it| it.state == State::Free).count();
        let shortage = shortage(free, entries.len());
        if shortage != self.shortage
            && let Some(words) = &shortage
        {
            warn!("{words}");
        }
        self.shortage = shortage;
        let mut faulty = BTreeMap::new();
        for entry in entries {
            let Some(fault) = fault(entry) else {
                continue;
            };
            let (key, instance) = (&entry.name, entry.instance.as_deref());
            if self.told.get(key) != Some(&fault) {
                warn!(key, instance, "a WireGuard key needs attention: {fault}");
            }
            faulty.insert(key.clone(), fault);
        }
        self.told = faulty;
    }
}

fn fault(entry: &Entry) -> Option<String> {
    match entry.state {
        State::Unlabelled => Some(format!(
            "it lacks the label `{INSTANCE_LABEL}`; set it to the empty value to put the key into the pool"
        )),
        State::Quarantined => Some(format!(
            "it is in quarantine; change it here and on the gateway, set `{INSTANCE_LABEL}` to the empty value and remove \
             `{QUARANTINE_LABEL}`"
        )),
        _ if entry.problems.is_empty() => None,
        _ => Some(entry.problems.join("; ")),
    }
}

/// Why an operator should add keys, before the lack of them is an outage.
fn shortage(free: usize, total: usize) -> Option<String> {
    match free {
        0 => Some(format!("none of {total} WireGuard keys is free; add some")),
        free if free < FEW && total > FEW => Some(format!("only {free} of {total} WireGuard keys is free; add some")),
        _ => None,
    }
}

/// What is gone already, or is another by now, is as it should be.
fn gone(deleted: Result<(), Error>) -> Result<(), Error> {
    match deleted {
        Err(Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::shortage;

    #[test_case(0, 0, Some("none of 0"); "an empty pool")]
    #[test_case(0, 5, Some("none of 5"); "all are in use")]
    #[test_case(1, 5, Some("only 1 of 5"); "nearly all are in use")]
    #[test_case(1, 2, None; "one of two")]
    #[test_case(2, 5, None; "enough")]
    fn a_pool_that_runs_dry_says_so(free: usize, total: usize, expected: Option<&str>) {
        let words = shortage(free, total);
        assert_eq!(words.is_some(), expected.is_some());
        assert!(expected.is_none_or(|it| words.unwrap().starts_with(it)));
    }
}
