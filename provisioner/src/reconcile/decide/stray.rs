//! Nodes that nobody answers for: raised with the certificate of an instance whose Worker is no more.
//!
//! A certificate lives for a year, a tombstone for a day. Only a Node that still keeps pods away is taken for one: whatever was
//! opened once is left alone, should its Worker get lost.

use std::time::Duration;

use dynk8s_api::InstanceId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

use super::{elapsed, node};
use crate::names::STARTUP_TAINT;

/// How long a Worker may be missing before its Node goes: keys that carry an instance's name bring the Worker back.
const PATIENCE: Duration = Duration::from_mins(10);

/// Name and UID of a Node that is to be deleted.
pub(crate) fn stray(
    node: &Node,
    has_worker: impl FnOnce(&InstanceId) -> bool,
    now: Timestamp,
) -> Option<(InstanceId, String)> {
    let instance: InstanceId = node.metadata.name.as_deref()?.parse().ok()?;
    let ours = node::summary(node, instance.as_str())?;
    let taints = node.spec.as_ref()?.taints.as_ref()?;
    let closed = taints.iter().any(|it| it.key == STARTUP_TAINT);
    let created = node.metadata.creation_timestamp.as_ref()?.0;
    let lost = closed && elapsed(created, now) > PATIENCE && !has_worker(&instance);
    lost.then_some((instance, ours.uid))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::*;

    const INSTANCE: &str = "i-0123456789abcdef0";

    fn found(change: impl FnOnce(&mut Value), has_worker: bool) -> Option<(InstanceId, String)> {
        let mut node = json!({
            "metadata": {"name": INSTANCE, "uid": "uid", "creationTimestamp": "2026-12-02T00:00:00Z"},
            "spec": {
                "providerID": format!("aws:///eu-central-1a/{INSTANCE}"),
                "taints": [{"key": STARTUP_TAINT, "effect": "NoSchedule"}],
            },
        });
        change(&mut node);
        let node = serde_json::from_value(node).unwrap();
        stray(&node, |_| has_worker, "2026-12-02T00:11:00Z".parse().unwrap())
    }

    #[test]
    fn a_closed_node_without_a_worker_is_one() {
        let expected = (INSTANCE.parse().unwrap(), "uid".to_owned());
        assert_eq!(found(|_| {}, false), Some(expected));
    }

    #[test]
    fn a_node_with_a_worker_is_none() {
        assert_eq!(found(|_| {}, true), None);
    }

    #[test_case("/spec/taints", &json!([]); "it is open")]
    #[test_case("/metadata/creationTimestamp", &json!("2026-12-02T00:01:00Z"); "it is new")]
    #[test_case("/metadata/name", &json!("worker-1"); "it has another name")]
    #[test_case("/metadata/name", &json!("i-0123456789abcdef1"); "it has the name of another instance")]
    #[test_case("/spec/providerID", &json!("gce:///x/i-0123456789abcdef0"); "it is of another cloud")]
    fn another_node_is_none(place: &str, value: &Value) {
        assert_eq!(found(|it| *it.pointer_mut(place).unwrap() = value.clone(), false), None);
    }
}
