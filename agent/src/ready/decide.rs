//! What the cluster's Node object says about this machine.

use serde::Deserialize;

/// A Node, as far as it is looked at.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Node {
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Spec {
    #[serde(default, rename = "providerID")]
    provider_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

/// How the Node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There, ours, and Ready.
    Ready,
    /// There and ours; why it is not Ready.
    NotReady(String),
    /// There, but it names another machine.
    Foreign(String),
}

/// Judges a Node.
pub(super) fn standing(node: &Node, provider_id: &str) -> Standing {
    if node.spec.provider_id != provider_id {
        return Standing::Foreign(node.spec.provider_id.chars().take(100).collect());
    }
    match node.status.conditions.iter().find(|it| it.r#type == "Ready") {
        Some(ready) if ready.status == "True" => Standing::Ready,
        Some(ready) => Standing::NotReady(format!("{}: {}", ready.reason, ready.message)),
        None => Standing::NotReady("the kubelet has not reported yet".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Standing, standing};

    const ID: &str = "aws:///eu-central-1a/i-0123abcd";

    fn judged(node: serde_json::Value) -> Standing {
        standing(&serde_json::from_value(node).unwrap(), ID)
    }

    #[test]
    fn is_ready_when_its_own_node_says_so() {
        let conditions = json!([{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let node = json!({"spec": {"providerID": ID}, "status": {"conditions": conditions}});
        assert_eq!(judged(node), Standing::Ready);
    }

    #[test]
    fn says_why_it_is_not_ready() {
        let conditions = json!([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "cni plugin not initialized"}]);
        let node = json!({"spec": {"providerID": ID}, "status": {"conditions": conditions}});
        assert_eq!(
            judged(node),
            Standing::NotReady("KubeletNotReady: cni plugin not initialized".to_owned())
        );
        assert!(matches!(
            judged(json!({"spec": {"providerID": ID}})),
            Standing::NotReady(_)
        ));
    }

    #[test]
    fn is_not_ready_by_the_node_of_another_machine() {
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let node =
            json!({"spec": {"providerID": "aws:///eu-central-1a/i-0123abce"}, "status": {"conditions": conditions}});
        assert!(matches!(judged(node), Standing::Foreign(_)));
        assert_eq!(judged(json!({})), Standing::Foreign(String::new()));
    }
}
