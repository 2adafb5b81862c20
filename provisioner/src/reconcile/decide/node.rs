//! The Node of an instance: found, settled, and opened for pods.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, Taint};

use super::look::{self, Obstacle};
use super::pool::{Key, internal_addresses};
use super::status::Kind;
use super::{Action, Draft};
use crate::config::Settings;
use crate::names::STARTUP_TAINT;
use crate::worker;

const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// Takes note of the Node; while the startup taint is on it, gives it what a kubelet may not give itself.
pub(super) fn look(draft: &mut Draft<'_>, key: Option<&Key>) {
    let node = draft.case.observed.node.as_ref();
    draft.findings.node = node.and_then(|it| summary(it, draft.case.instance.as_str()));
    let Some((node, ours)) = node.zip(draft.findings.node.clone()) else {
        return absent(draft, node);
    };
    if ours.ready && !draft.failed() && draft.findings.joined.is_none() {
        draft.findings.joined = Some(draft.case.now);
    }
    match (draft.findings.joined, ours.ready) {
        (Some(_), true) => draft.say(Kind::Joined, true, "Ready", "the Node is Ready"),
        (Some(_), false) => draft.say(
            Kind::Joined,
            true,
            "NotReady",
            "the Node has joined, but is not Ready now",
        ),
        (None, _) => draft.say(
            Kind::Joined,
            false,
            "NotReady",
            "the Node is there, but was never Ready",
        ),
    }
    if draft.hands_out() {
        settle(draft, node, ours.ready, key);
    }
}

fn absent(draft: &mut Draft<'_>, other: Option<&Node>) {
    match other {
        Some(_) => {
            let message = "a Node of the instance's name is there, but its provider id is not the instance's; nothing is done \
                           about it: look whose it is";
            draft.say(Kind::Joined, false, "ForeignNode", message);
        }
        None if draft.findings.joined.is_some() => {
            draft.say(
                Kind::Joined,
                false,
                "Missing",
                "the Node had joined and is not there any more",
            );
        }
        None => draft.say(Kind::Joined, false, "NotJoined", "the Node is not there yet"),
    }
}

/// Sets the group's labels, and lifts the startup taint once the node is what it should be. Later changes are left alone.
fn settle(draft: &mut Draft<'_>, node: &Node, ready: bool, key: Option<&Key>) {
    let taints = node.spec.as_ref().and_then(|it| it.taints.clone()).unwrap_or_default();
    if !taints.iter().any(|it| it.key == STARTUP_TAINT) {
        return draft.say(
            Kind::Admitted,
            true,
            "Admitted",
            "the startup taint is lifted; pods may come",
        );
    }
    let labels = missing_labels(draft, node);
    let obstacle = obstacle(draft, node, ready, key);
    if labels.is_empty() && obstacle.is_some() {
        return reject(draft, obstacle);
    }
    let Some(resource_version) = node.metadata.resource_version.clone() else {
        return;
    };
    let without: Vec<Taint> = taints.into_iter().filter(|it| it.key != STARTUP_TAINT).collect();
    draft.act(Action::PatchNode {
        resource_version,
        labels,
        taints: obstacle.is_none().then_some(without),
    });
    reject(draft, obstacle);
}

fn reject(draft: &mut Draft<'_>, obstacle: Option<Obstacle>) {
    match obstacle {
        Some((reason, message)) => draft.say(Kind::Admitted, false, reason, message),
        None => draft.say(
            Kind::Admitted,
            true,
            "Admitted",
            "the startup taint is lifted; pods may come",
        ),
    }
}

/// Why pods must stay away. The kubelet is looked for as soon as its address is known, for it may be found by the time that
/// the Node is Ready.
fn obstacle(draft: &mut Draft<'_>, node: &Node, ready: bool, key: Option<&Key>) -> Option<Obstacle> {
    let found = match tunnel_address(node, key) {
        Ok(address) => look::obstacle(draft, node, address),
        Err(obstacle) => Some(obstacle),
    };
    if ready {
        found
    } else {
        Some(("NotReady", "waits for the Node to be Ready".to_owned()))
    }
}

/// The first address that the Node shows, if all are of its key's document.
fn tunnel_address(node: &Node, key: Option<&Key>) -> Result<IpAddr, Obstacle> {
    let expected = key.map(|it| it.addresses.as_slice()).unwrap_or_default();
    if let Some(foreign) = internal_addresses(node).find(|it| !expected.contains(it)) {
        let message =
            format!("the Node shows the address {foreign}, which its key's document does not have; check `--node-ip`");
        return Err(("ForeignAddress", message));
    }
    let first = internal_addresses(node).next();
    first.ok_or_else(|| ("NoAddress", "the Node shows no internal address".to_owned()))
}

fn missing_labels(draft: &Draft<'_>, node: &Node) -> BTreeMap<String, String> {
    let has = |key: &str, value: &str| {
        let labels = node.metadata.labels.as_ref();
        labels.and_then(|it| it.get(key)).is_some_and(|it| it == value)
    };
    let described = draft.status.described.as_ref();
    let wished = draft
        .group()
        .map(|it| Settings::of(it, described).labels)
        .unwrap_or_default();
    wished.into_iter().filter(|(key, value)| !has(key, value)).collect()
}

/// What is kept of a Node that is the instance's by its provider id.
pub(super) fn summary(node: &Node, instance: &str) -> Option<worker::Node> {
    let provider_id = node.spec.as_ref()?.provider_id.as_deref()?;
    let zone = provider_id
        .strip_prefix("aws:///")?
        .strip_suffix(instance)?
        .strip_suffix('/')?;
    let valid = !zone.is_empty() && zone.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    valid.then_some(())?;
    let labels = node.metadata.labels.as_ref();
    Some(worker::Node {
        name: node.metadata.name.clone()?,
        uid: node.metadata.uid.clone()?,
        ready: is_ready(node),
        instance_type: labels.and_then(|it| it.get(INSTANCE_TYPE)).cloned(),
        zone: Some(zone.to_owned()),
    })
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|it| it.type_ == "Ready" && it.status == "True")
}
