//! How many keys and Workers are in which state, for `/metrics`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::runtime::reflector::Store;

use super::watch::Stores;
use crate::commands::keys::decide::inventory::{State, inventory};
use crate::metrics::Metrics;
use crate::worker::{Phase, Worker};

/// All states of keys, and their names.
const STATES: [(State, &str); 7] = [
    (State::Free, "free"),
    (State::InUse, "in-use"),
    (State::Cooling, "cooling"),
    (State::Quarantined, "quarantined"),
    (State::Unlabelled, "unlabelled"),
    (State::Unusable, "unusable"),
    (State::Retired, "retired"),
];

/// All phases of Workers, and their names. One that has just been made has none.
const PHASES: [(Option<Phase>, &str); 11] = [
    (None, "New"),
    (Some(Phase::Announced), "Announced"),
    (Some(Phase::Waiting), "Waiting"),
    (Some(Phase::Joining), "Joining"),
    (Some(Phase::Ready), "Ready"),
    (Some(Phase::NotReady), "NotReady"),
    (Some(Phase::Stopped), "Stopped"),
    (Some(Phase::Failed), "Failed"),
    (Some(Phase::Suspect), "Suspect"),
    (Some(Phase::Releasing), "Releasing"),
    (Some(Phase::Gone), "Gone"),
];

/// Has both counted whenever somebody asks.
pub(super) fn offer(metrics: &Metrics, stores: &Stores) {
    let (secrets, workers, nodes) = (stores.keys.clone(), stores.workers.clone(), stores.nodes.clone());
    metrics.gauges("keys", "WireGuard keys, by state", "state", move || {
        keys(&copies(&secrets), &copies(&workers), &copies(&nodes))
    });
    let workers = stores.workers.clone();
    metrics.gauges("workers", "Workers, by phase", "phase", move || {
        phases(&workers.state())
    });
}

pub(super) fn copies<K: kube::Resource<DynamicType = ()> + Clone>(store: &Store<K>) -> Vec<K> {
    store.state().iter().map(|it| K::clone(it)).collect()
}

fn keys(secrets: &[Secret], workers: &[Worker], nodes: &[Node]) -> Vec<(&'static str, usize)> {
    let entries = inventory(secrets, workers, nodes);
    let count = |state: State| entries.iter().filter(|it| it.state == state).count();
    STATES.map(|(state, name)| (name, count(state))).into()
}

fn phases(workers: &[Arc<Worker>]) -> Vec<(&'static str, usize)> {
    let phase = |worker: &Worker| worker.status.as_ref().and_then(|it| it.phase);
    let count = |sought: Option<Phase>| workers.iter().filter(|it| phase(it) == sought).count();
    PHASES.map(|(phase, name)| (name, count(phase))).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn worker(name: &str, status: &serde_json::Value) -> Worker {
        serde_json::from_value(json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker",
            "metadata": { "name": name }, "spec": { "instanceId": name, "wished": "running" }, "status": status }))
        .unwrap()
    }

    #[test]
    fn every_phase_is_counted_also_that_of_nobody() {
        let workers = [
            worker("i-00000001", &json!({ "phase": "Ready" })),
            worker("i-00000002", &json!({ "phase": "Ready" })),
            worker("i-00000003", &json!({})),
        ]
        .map(Arc::new);
        let counted = phases(&workers);
        assert_eq!(counted.len(), PHASES.len());
        let some: Vec<_> = counted.into_iter().filter(|it| it.1 > 0).collect();
        assert_eq!(some, [("New", 1), ("Ready", 2)]);
    }

    #[test]
    fn a_phase_is_called_as_in_the_status() {
        for (phase, name) in PHASES {
            let said = phase.map_or("New".into(), |it| serde_json::to_value(it).unwrap());
            assert_eq!(said, name);
        }
    }

    #[test]
    fn a_state_of_keys_is_called_as_the_operator_sees_it() {
        for (state, name) in STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), name);
        }
    }

    #[test]
    fn every_state_of_keys_is_counted_also_that_of_none() {
        let key = |name: &str, holder: Option<&str>| -> Secret {
            let labels = holder.map(|it| json!({ "dynk8s.du5t1n.me/ec2-instance-id": it }));
            serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } })).unwrap()
        };
        let released = worker("i-00000001", &json!({ "released": "2026-12-01T00:00:00Z" }));
        let secrets = [
            key("one", None),
            key("two", Some("i-00000001")),
            key("three", Some("i-00000002")),
        ];
        let counted = keys(&secrets, &[released], &[]);
        assert_eq!(counted.len(), STATES.len());
        let some: Vec<_> = counted.into_iter().filter(|it| it.1 > 0).collect();
        assert_eq!(some, [("in-use", 1), ("cooling", 1), ("unlabelled", 1)]);
    }
}
