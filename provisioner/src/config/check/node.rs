//! What Kubernetes, or the kubelet, would refuse of a node's labels, taints and resources.

use dynk8s_api::claim::Taint;

use crate::labels::{is_key, is_value};
use crate::names::STARTUP_TAINT;
use crate::quantity::is_quantity;

/// The kubelet reports these itself, and would change them back.
const REPORTED: [&str; 5] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
];

/// What is wrong with a label.
pub(in crate::config) fn label_fault(key: &str, value: &str) -> Option<String> {
    if !is_key(key) || !is_value(value) {
        return Some(format!("Kubernetes admits no label `{key}={value}`"));
    }
    if key.starts_with("node-role.kubernetes.io/control-plane") || key.starts_with("node-role.kubernetes.io/master") {
        return Some(format!("`{key}` would make the node one of the control plane"));
    }
    REPORTED
        .contains(&key)
        .then(|| format!("the kubelet sets `{key}` itself"))
}

/// What is wrong with a taint.
pub(in crate::config) fn taint_fault(taint: &Taint) -> Option<String> {
    let key = &taint.key;
    if !is_key(key) || !is_value(&taint.value) {
        return Some(format!("Kubernetes admits no taint `{key}={}`", taint.value));
    }
    if key == STARTUP_TAINT {
        return Some(format!("`{key}` is set and lifted by itself"));
    }
    if key.starts_with("node.cloudprovider.kubernetes.io/") {
        return Some(format!("nobody would lift `{key}`, which is a cloud provider's"));
    }
    key.starts_with("node.kubernetes.io/")
        .then(|| format!("Kubernetes sets and lifts `{key}` by itself"))
}

/// What is wrong with a resource that the autoscaler predicts.
pub(in crate::config) fn resource_fault(name: &str, quantity: &str) -> Option<String> {
    if !is_key(name) {
        return Some(format!("Kubernetes admits no resource `{name}`"));
    }
    (!is_quantity(quantity)).then(|| format!("`{quantity}` is no quantity such as `4` or `16Gi`"))
}
