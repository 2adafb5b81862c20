//! The Node as a kubelet registers it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::configuration::NodeRegistration;
use super::kubelet;

pub(super) fn node(registration: &NodeRegistration, version: &str, now: Timestamp) -> Value {
    let name = &registration.name;
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels(registration)},
        "spec": {"providerID": registration.argument("provider-id"), "taints": registration.taints},
        "status": {
            "addresses": addresses(registration),
            "conditions": [condition(false, now)],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet::PORT}},
            "capacity": capacity(),
            "allocatable": capacity(),
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "none://0",
                "kernelVersion": "0",
                "kubeProxyVersion": "",
                "kubeletVersion": version,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "dynk8s-lab",
                "systemUUID": "",
            },
        },
    })
}

/// The patch of the status that says whether the node can run pods.
pub(super) fn readiness(ready: bool, now: Timestamp) -> Value {
    json!({"status": {"conditions": [condition(ready, now)]}})
}

pub(super) fn lease(name: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": format!("{now:.6}")},
    })
}

fn labels(registration: &NodeRegistration) -> BTreeMap<&str, &str> {
    let own = [
        ("kubernetes.io/hostname", registration.name.as_str()),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/os", "linux"),
    ];
    let given = registration.argument("node-labels").unwrap_or_default().split(',');
    own.into_iter()
        .chain(given.filter_map(|it| it.split_once('=')))
        .collect()
}

fn addresses(registration: &NodeRegistration) -> Vec<Value> {
    let internal = registration.argument("node-ip").unwrap_or_default().split(',');
    let internal = internal
        .filter(|it| !it.is_empty())
        .map(|it| json!({"type": "InternalIP", "address": it}));
    internal
        .chain([json!({"type": "Hostname", "address": registration.name})])
        .collect()
}

fn capacity() -> Value {
    json!({"cpu": "2", "memory": "8Gi", "pods": "110"})
}

fn condition(ready: bool, now: Timestamp) -> Value {
    let (status, reason, message) = if ready {
        ("True", "KubeletReady", "kubelet is posting ready status")
    } else {
        ("False", "KubeletNotReady", "container runtime network not ready")
    };
    let now = format!("{now:.0}");
    json!({
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    })
}
