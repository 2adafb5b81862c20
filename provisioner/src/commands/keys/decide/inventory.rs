//! The pool as it stands: one entry a key Secret.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dynk8s_api::wireguard::Document;
use dynk8s_api::{PublicKey, Secret as SecretText};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Secret};
use serde::Serialize;

use crate::document;
use crate::names::{INSTANCE_LABEL, KEY_FIELD, QUARANTINE_LABEL, RETIRED_LABEL};
use crate::reconcile::shown_addresses;
use crate::store;
use crate::worker::{Worker, WorkerStatus};

/// A key Secret, and what is known of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) state: State,
    /// The instance that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    pub(crate) addresses: Vec<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) public_key: Option<String>,
    /// The labels by which node groups choose.
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<Timestamp>,
    /// Whether it is to be removed when its instance is gone.
    pub(crate) retired: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    #[serde(skip)]
    pub(crate) document: Option<Document>,
    #[serde(skip)]
    pub(crate) text: Option<SecretText>,
    #[serde(skip)]
    pub(crate) uid: Option<String>,
    #[serde(skip)]
    pub(crate) resource_version: Option<String>,
}

/// What a key is good for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    Free,
    InUse,
    /// Its instance is gone, and WireGuard's session with it soon.
    Cooling,
    /// Two claims of its instance contradict each other: it may be in a stranger's hand.
    Quarantined,
    /// Without the label that says whose it is: neither free nor anybody's.
    Unlabelled,
    /// Free, but nobody could use it.
    Unusable,
    /// Free, and not to be handed out any more.
    Retired,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Free => "free",
            Self::InUse => "in use",
            Self::Cooling => "cooling",
            Self::Quarantined => "quarantined",
            Self::Unlabelled => "unlabelled",
            Self::Unusable => "unusable",
            Self::Retired => "retired",
        })
    }
}

/// Looks at all keys, sorted by name.
pub(crate) fn inventory(secrets: &[Secret], workers: &[Worker], nodes: &[Node]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = secrets.iter().filter_map(Entry::read).collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let doubles: Vec<_> = entries.iter().map(|it| doubles(it, &entries)).collect();
    for (entry, doubles) in entries.iter_mut().zip(doubles) {
        entry.problems.extend(doubles);
        entry.problems.extend(shown(entry, nodes));
        entry.settle(workers);
    }
    entries
}

impl Entry {
    fn read(secret: &Secret) -> Option<Self> {
        let mut labels = secret.metadata.labels.clone().unwrap_or_default();
        let instance = labels.remove(INSTANCE_LABEL);
        let quarantined = labels.remove(QUARANTINE_LABEL);
        let retired = labels.remove(RETIRED_LABEL).is_some();
        let text = store::text(secret, KEY_FIELD);
        let (document, problems) = match text.as_ref().map(|it| Document::parse(it.expose())) {
            None => (None, vec![format!("there is no text in its field `{KEY_FIELD}`")]),
            Some(Err(error)) => (None, vec![error.to_string()]),
            Some(Ok(document)) => {
                let refusals = document::refusals(&document);
                (Some(document), refusals)
            }
        };
        let addresses = document.iter().flat_map(document::addresses).collect();
        Some(Self {
            name: secret.metadata.name.clone()?,
            state: match instance.as_deref() {
                _ if quarantined.is_some() => State::Quarantined,
                None => State::Unlabelled,
                Some("") => State::Free,
                Some(_) => State::InUse,
            },
            instance: quarantined.or(instance).filter(|it| !it.is_empty()),
            addresses,
            public_key: document.as_ref().and_then(document::public_key).map(String::from),
            labels,
            created: secret.metadata.creation_timestamp.as_ref().map(|it| it.0),
            retired,
            problems,
            document,
            text,
            uid: secret.metadata.uid.clone(),
            resource_version: secret.metadata.resource_version.clone(),
        })
    }

    /// What the Worker says of a key that is held, and what the problems make of one that is free.
    fn settle(&mut self, workers: &[Worker]) {
        if self.state == State::Quarantined {
            return;
        }
        let Some(instance) = self.instance.as_deref() else {
            if self.state == State::Free {
                self.state = match (self.problems.is_empty(), self.retired) {
                    (_, true) => State::Retired,
                    (true, false) => State::Free,
                    (false, false) => State::Unusable,
                };
            }
            return;
        };
        let worker = workers.iter().find(|it| it.metadata.name.as_deref() == Some(instance));
        let Some(worker) = worker else {
            self.problems.push(format!("there is no Worker `{instance}`"));
            return;
        };
        let unknown = WorkerStatus::default();
        let status = worker.status.as_ref().unwrap_or(&unknown);
        if status.contested.is_some() && status.joined.is_none() {
            self.state = State::Quarantined;
        } else if status.released.is_some() {
            self.state = State::Cooling;
        }
    }

    /// The peer's public key, as the document's own text writes such keys.
    pub(crate) fn public_key(&self) -> Option<PublicKey> {
        self.document.as_ref().and_then(document::public_key)
    }
}

/// Keys that the gateway could not tell apart.
fn doubles(entry: &Entry, all: &[Entry]) -> Vec<String> {
    let others = || all.iter().filter(|it| it.name != entry.name);
    let mut doubles = Vec::new();
    let same_key = others().find(|it| it.public_key.is_some() && it.public_key == entry.public_key);
    doubles.extend(same_key.map(|it| format!("`{}` has the same private key", it.name)));
    let shares = |it: &&Entry| it.addresses.iter().any(|address| entry.addresses.contains(address));
    let same_address = others().find(shares);
    doubles.extend(same_address.map(|it| format!("`{}` has the same address", it.name)));
    doubles
}

/// A Node that shows an address of the key and is not its instance's.
fn shown(entry: &Entry, nodes: &[Node]) -> Option<String> {
    let stranger = nodes.iter().find(|node| {
        let name = node.metadata.name.as_deref();
        name != entry.instance.as_deref() && shown_addresses(node).any(|it| entry.addresses.contains(&it))
    })?;
    let name = stranger.metadata.name.as_deref().unwrap_or_default();
    Some(format!("the Node `{name}` shows its address"))
}
