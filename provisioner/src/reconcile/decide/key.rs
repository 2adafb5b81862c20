//! Which WireGuard key an instance has.
//!
//! The choice is written into the Worker first and into the key's label second, each only if the object is as it was
//! seen. So two passes that see different pools still choose one key. A choice is given up only when the key is known to
//! be another's, for a label that is on its way may arrive late.

use std::collections::BTreeSet;
use std::net::IpAddr;

use dynk8s_api::wireguard::Document;
use k8s_openapi::api::core::v1::{Node, Secret};

use super::status::Kind;
use super::{Action, Draft};
use crate::config::Selector;
use crate::names::{INSTANCE_LABEL, KEY_FIELD};

/// A key Secret, without the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) resource_version: String,
    /// The tunnel addresses of its document.
    pub(crate) addresses: Vec<IpAddr>,
    /// A Node that shows one of the addresses.
    pub(crate) shown_by: Option<String>,
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
    /// Free by their label, but with a document that cannot be read or an address that a Node shows.
    pub(crate) unusable: usize,
}

impl Keys {
    /// Looks at all keys on behalf of an instance that may have those of `pool`; `chosen` is its own choice so far, `others`
    /// are those of others.
    pub(crate) fn of<'a>(
        secrets: impl IntoIterator<Item = &'a Secret>,
        nodes: &[&Node],
        instance: &str,
        pool: &Selector,
        chosen: Option<&str>,
        others: impl FnOnce() -> BTreeSet<String>,
    ) -> Self {
        let mut keys = Self::default();
        let mut free = Vec::new();
        for secret in secrets {
            let is_held = holder(secret) == Some(instance);
            if !is_held && !pool.matches(secret.metadata.labels.as_ref()) {
                continue;
            }
            keys.total += 1;
            match holder(secret) {
                None => keys.unlabelled += 1,
                Some("") => free.push(secret),
                Some(_) if is_held => keys.held.extend(Key::of(secret, nodes)),
                Some(_) => {}
            }
        }
        keys.held.sort_by(|one, other| one.name.cmp(&other.name));
        if keys.held.is_empty() && !free.is_empty() {
            keys.choose(free, nodes, chosen, others);
        }
        keys
    }

    fn choose(
        &mut self,
        mut free: Vec<&Secret>,
        nodes: &[&Node],
        chosen: Option<&str>,
        others: impl FnOnce() -> BTreeSet<String>,
    ) {
        if let Some(choice) = free.iter().find(|it| Some(name(it)) == chosen) {
            free = vec![choice];
            self.choice_is_free = true;
        } else {
            let others = others();
            free.retain(|it| !others.contains(name(it)));
            free.sort_by_key(|it| name(it));
        }
        for secret in free {
            let key = Key::of(secret, nodes).filter(|it| !it.addresses.is_empty() && it.shown_by.is_none());
            if key.is_some() {
                self.free = key;
                return;
            }
            self.unusable += 1;
        }
    }
}

impl Key {
    fn of(secret: &Secret, nodes: &[&Node]) -> Option<Self> {
        let addresses = addresses(secret);
        let shown_by = nodes
            .iter()
            .find(|it| internal_addresses(it).any(|it| addresses.contains(&it)));
        Some(Self {
            name: secret.metadata.name.clone()?,
            resource_version: secret.metadata.resource_version.clone()?,
            shown_by: shown_by.and_then(|it| it.metadata.name.clone()),
            addresses,
        })
    }
}

/// Finds the instance's key, or gives it one if it may have one.
pub(super) fn assign(draft: &mut Draft<'_>) -> Option<Key> {
    let keys = &draft.case.observed.keys;
    let chosen = draft.findings.key.as_deref();
    let held = keys.held.iter().find(|it| Some(it.name.as_str()) == chosen);
    if let Some(key) = held.or(keys.held.first()).cloned() {
        draft.findings.key = Some(key.name.clone());
        let others = keys.held.len() - 1;
        let message = match others {
            0 => format!("has the key `{}`", key.name),
            _ => format!(
                "has the key `{}`; {others} more carry its name on their label",
                key.name
            ),
        };
        draft.say(Kind::KeyAssigned, true, "Assigned", message);
        return Some(key);
    }
    if draft.status.announced.is_none() && draft.status.claim.is_none() {
        draft.say(
            Kind::KeyAssigned,
            false,
            "Waiting",
            "waits for an announcement or a claim",
        );
        return None;
    }
    if draft.group().is_none() {
        let message = "no node group takes the instance";
        draft.say(Kind::KeyAssigned, false, "NotEligible", message);
        return None;
    }
    if !draft.hands_out() {
        let message = "nothing is handed out to the instance as it stands";
        draft.say(Kind::KeyAssigned, false, "Withheld", message);
        return None;
    }
    if draft.case.observed.unsettled {
        let message =
            "the labels of keys and the Workers contradict each other; waits until EC2 was asked about all instances";
        draft.say(Kind::KeyAssigned, false, "Unsettled", message);
        return None;
    }
    if let Some(name) = draft.findings.key.take_if(|_| !keys.choice_is_free) {
        draft.act(Action::GiveUpKey { name });
    }
    let Some(key) = keys.free.clone() else {
        draft.say(Kind::KeyAssigned, false, "PoolEmpty", exhausted(keys));
        return None;
    };
    draft.findings.key = Some(key.name.clone());
    draft.say(
        Kind::KeyAssigned,
        false,
        "Assigning",
        format!("takes the key `{}`", key.name),
    );
    draft.guard();
    draft.act(Action::LabelKey {
        name: key.name.clone(),
        resource_version: key.resource_version.clone(),
    });
    draft.say(
        Kind::KeyAssigned,
        true,
        "Assigned",
        format!("has the key `{}`", key.name),
    );
    Some(key)
}

fn exhausted(keys: &Keys) -> String {
    format!(
        "none of {} keys is free ({} without the label `{INSTANCE_LABEL}`, {} with an unreadable document or an address in \
         use); add one (that the node group's `keys` select), or terminate an instance that has one",
        keys.total, keys.unlabelled, keys.unusable
    )
}

fn name(secret: &Secret) -> &str {
    secret.metadata.name.as_deref().unwrap_or_default()
}

fn holder(secret: &Secret) -> Option<&str> {
    secret.metadata.labels.as_ref()?.get(INSTANCE_LABEL).map(String::as_str)
}

fn addresses(secret: &Secret) -> Vec<IpAddr> {
    let field = secret.data.as_ref().and_then(|it| it.get(KEY_FIELD));
    let document = field
        .and_then(|it| std::str::from_utf8(&it.0).ok())
        .and_then(|it| Document::parse(it).ok());
    document.map_or_else(Vec::new, |it| {
        it.interface.addresses.iter().map(ipnet::IpNet::addr).collect()
    })
}

/// The addresses of type `InternalIP` that a Node shows.
pub(super) fn internal_addresses(node: &Node) -> impl Iterator<Item = IpAddr> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_ref());
    addresses
        .into_iter()
        .flatten()
        .filter(|it| it.type_ == "InternalIP")
        .filter_map(|it| it.address.parse().ok())
}
