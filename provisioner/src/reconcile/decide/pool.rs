//! The pool of WireGuard keys, read from their Secrets.

mod document;

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, Secret};

use crate::config::Selector;
use crate::names::{INSTANCE_LABEL, QUARANTINE_LABEL, RETIRED_LABEL};

pub(crate) use document::Documents;

/// A key Secret, without the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) resource_version: String,
    /// The tunnel addresses of its document.
    pub(crate) addresses: Vec<IpAddr>,
    /// The beginning of its document's hash.
    pub(crate) fingerprint: String,
    /// Whether a node could use its document.
    pub(crate) usable: bool,
    /// Another key Secret with the same public key or one of the addresses.
    pub(crate) double: Option<String>,
    /// The Nodes that show one of the addresses.
    pub(crate) shown_by: Vec<String>,
}

/// The pool as one instance sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Labelled with the instance.
    pub(crate) held: Vec<Key>,
    /// Free and usable: the one that was chosen before if that is free, else the first by name.
    pub(crate) free: Option<Key>,
    /// Whether the one that was chosen before is free.
    pub(crate) choice_is_free: bool,
    pub(crate) total: usize,
    /// Without the label: neither free nor held.
    pub(crate) unlabelled: usize,
    /// In quarantine.
    pub(crate) quarantined: usize,
    /// Free by their label, but with a document that cannot be read, or with an address that a Node shows or another key has.
    pub(crate) unusable: usize,
}

/// Whose a key is, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    Free,
    Instance(&'a str),
    Quarantined,
    /// Free, but not to be given away any more.
    Retired,
    /// It lacks the label.
    Unknown,
}

impl Keys {
    /// Looks at all keys on behalf of an instance that may have those of `pool`; `chosen` is its own choice so far, `others`
    /// are those of others.
    pub(crate) fn of<'a>(
        secrets: impl IntoIterator<Item = &'a Secret>,
        documents: &mut Documents,
        nodes: &[&Node],
        instance: &str,
        pool: &Selector,
        chosen: Option<&str>,
        others: impl FnOnce() -> BTreeSet<String>,
    ) -> Self {
        let secrets: Vec<&'a Secret> = secrets.into_iter().collect();
        documents.read(secrets.iter().copied());
        let mut keys = Self::default();
        let mut free = Vec::new();
        for secret in &secrets {
            let secret = *secret;
            let holder = holder(secret);
            let is_held = holder == Holder::Instance(instance);
            if !is_held && !pool.matches(secret.metadata.labels.as_ref()) {
                continue;
            }
            keys.total += 1;
            match holder {
                Holder::Unknown => keys.unlabelled += 1,
                Holder::Quarantined => keys.quarantined += 1,
                Holder::Free => free.push(secret),
                Holder::Instance(_) if is_held => keys.held.extend(Key::of(secret, documents, nodes)),
                Holder::Instance(_) | Holder::Retired => {}
            }
        }
        keys.held.sort_by(|one, other| one.name.cmp(&other.name));
        if keys.held.is_empty() && !free.is_empty() {
            let taken = secrets.iter().filter(|it| is_taken(it)).map(|it| name(it).to_owned());
            let choice = Choice {
                documents,
                nodes,
                instance,
                chosen,
                taken: taken.collect(),
            };
            keys.choose(free, choice, others);
        }
        keys
    }

    fn choose(&mut self, mut free: Vec<&Secret>, mut choice: Choice<'_>, others: impl FnOnce() -> BTreeSet<String>) {
        if let Some(own) = free.iter().find(|it| Some(name(it)) == choice.chosen) {
            free = vec![own];
            self.choice_is_free = true;
        } else {
            let others = others();
            free.retain(|it| !others.contains(name(it)));
            free.sort_by_key(|it| name(it));
            choice.taken.extend(others);
        }
        for secret in free {
            let key = Key::of(secret, choice.documents, choice.nodes).filter(|it| choice.may_be(it));
            if key.is_some() {
                self.free = key;
                return;
            }
            self.unusable += 1;
        }
    }
}

impl Key {
    fn of(secret: &Secret, documents: &Documents, nodes: &[&Node]) -> Option<Self> {
        let name = secret.metadata.name.clone()?;
        let facts = documents.of(&name);
        let addresses = facts.map(|it| it.addresses.clone()).unwrap_or_default();
        Some(Self {
            resource_version: secret.metadata.resource_version.clone()?,
            fingerprint: facts.map(|it| it.fingerprint.clone()).unwrap_or_default(),
            usable: facts.is_some_and(|it| it.usable),
            double: documents.doubles_of(&name).next().map(str::to_owned),
            shown_by: shown_by(&addresses, nodes),
            addresses,
            name,
        })
    }
}

/// What a choice among free keys is made of.
struct Choice<'a> {
    documents: &'a Documents,
    nodes: &'a [&'a Node],
    instance: &'a str,
    chosen: Option<&'a str>,
    /// The keys that somebody has or is about to get.
    taken: BTreeSet<String>,
}

impl Choice<'_> {
    /// Of keys that the gateway could not tell apart only the first by name is ever given away, so that two passes that see
    /// different pools agree; and none while another of them is taken.
    fn may_be(&self, key: &Key) -> bool {
        let is_second = |it: &str| it < key.name.as_str() || self.taken.contains(it);
        let is_shown = key.shown_by.iter().any(|it| it != self.instance);
        key.usable && !is_shown && !self.documents.doubles_of(&key.name).any(is_second)
    }
}

fn is_taken(secret: &Secret) -> bool {
    matches!(holder(secret), Holder::Instance(_) | Holder::Quarantined)
}

/// Whose a key is, by its labels.
pub(crate) fn holder(secret: &Secret) -> Holder<'_> {
    let Some(labels) = &secret.metadata.labels else {
        return Holder::Unknown;
    };
    if labels.contains_key(QUARANTINE_LABEL) {
        return Holder::Quarantined;
    }
    match labels.get(INSTANCE_LABEL).map(String::as_str) {
        None => Holder::Unknown,
        Some("") if labels.contains_key(RETIRED_LABEL) => Holder::Retired,
        Some("") => Holder::Free,
        Some(instance) => Holder::Instance(instance),
    }
}

fn name(secret: &Secret) -> &str {
    secret.metadata.name.as_deref().unwrap_or_default()
}

fn shown_by(addresses: &[IpAddr], nodes: &[&Node]) -> Vec<String> {
    let shows = |it: &&&Node| shown_addresses(it).any(|it| addresses.contains(&it));
    let nodes = nodes.iter().filter(shows);
    nodes.filter_map(|it| it.metadata.name.clone()).collect()
}

/// All the addresses that a Node shows, of whatever type: somebody uses them.
pub(crate) fn shown_addresses(node: &Node) -> impl Iterator<Item = IpAddr> {
    typed_addresses(node).map(|(_, address)| address)
}

/// The addresses of type `InternalIP` that a Node shows.
pub(crate) fn internal_addresses(node: &Node) -> impl Iterator<Item = IpAddr> {
    typed_addresses(node).filter_map(|(kind, address)| (kind == "InternalIP").then_some(address))
}

fn typed_addresses(node: &Node) -> impl Iterator<Item = (&str, IpAddr)> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_ref());
    let addresses = addresses.into_iter().flatten();
    addresses.filter_map(|it| Some((it.type_.as_str(), it.address.parse().ok()?)))
}
