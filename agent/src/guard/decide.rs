//! How often the guard wakes up, and which pods leave a node.

use std::time::Duration;

use serde_json::Value;

/// The guard's one timer.
pub(super) const TICK: Duration = Duration::from_secs(30);

/// A pod that is to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Leaving {
    pub(super) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.namespace, self.name)
    }
}

/// The pods of a list that an eviction moves elsewhere: not those that belong to the node, nor those that are over.
pub(super) fn leaving(list: &Value) -> Vec<Leaving> {
    let pods = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    pods.iter().filter(|it| leaves(it)).filter_map(leaver).collect()
}

fn leaves(pod: &Value) -> bool {
    let metadata = &pod["metadata"];
    let owners = metadata["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let of_daemon_set = owners
        .iter()
        .any(|it| it["kind"] == "DaemonSet" && it["controller"] == true);
    let of_kubelet = metadata["annotations"]["kubernetes.io/config.mirror"].is_string();
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let leaving = metadata["deletionTimestamp"].is_string();
    !(of_daemon_set || of_kubelet || over || leaving)
}

fn leaver(pod: &Value) -> Option<Leaving> {
    // They become parts of a path, and the API server holds them to names of DNS.
    let name = |key: &str| {
        let text = pod["metadata"][key].as_str()?;
        let valid = text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-.".contains(&it));
        (valid && !text.is_empty()).then(|| text.to_owned())
    };
    Some(Leaving {
        namespace: name("namespace")?,
        name: name("name")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::{TICK, leaving};

    /// As strace shows it: the levels of tokio's timer wheel make three wake-ups of one tick, and a spot instance's metadata
    /// cost one more.
    const OF_A_TICK: u64 = 4;

    #[test]
    fn wakes_up_no_more_than_ten_times_a_minute() {
        assert!(60 / TICK.as_secs() * OF_A_TICK <= 10);
    }

    /// The silence that is noticed, the pause until it is, and what it takes to look the name up: within three minutes.
    #[test]
    fn follows_an_endpoint_within_three_minutes() {
        assert!(135 + TICK.as_secs() + 10 < 180);
    }

    fn pod(metadata: &Value, phase: &str) -> Value {
        let mut pod = json!({"metadata": {"namespace": "default", "name": "web-0"}, "status": {"phase": phase}});
        pod["metadata"]
            .as_object_mut()
            .unwrap()
            .extend(metadata.as_object().unwrap().clone());
        json!({"items": [pod]})
    }

    #[test_case(&json!({}), "Running", true; "a pod")]
    #[test_case(&json!({}), "Pending", true; "one that begins")]
    #[test_case(&json!({"ownerReferences": [{"kind": "ReplicaSet", "controller": true}]}), "Running", true; "one of a deployment")]
    #[test_case(&json!({"ownerReferences": [{"kind": "DaemonSet", "controller": true}]}), "Running", false; "one of a daemon set")]
    #[test_case(&json!({"annotations": {"kubernetes.io/config.mirror": "x"}}), "Running", false; "one of the kubelet's own")]
    #[test_case(&json!({}), "Succeeded", false; "one that is done")]
    #[test_case(&json!({}), "Failed", false; "one that has failed")]
    #[test_case(&json!({"deletionTimestamp": "2026-12-02T08:22:00Z"}), "Running", false; "one that leaves already")]
    #[test_case(&json!({"name": "../../nodes/x"}), "Running", false; "one whose name is a path")]
    #[test_case(&json!({"name": 1}), "Running", false; "one without a name")]
    fn moves_what_can_live_elsewhere(metadata: &Value, phase: &str, expected: bool) {
        assert_eq!(leaving(&pod(metadata, phase)).len() == 1, expected);
    }

    #[test]
    fn names_the_pod() {
        assert_eq!(
            leaving(&pod(&json!({}), "Running"))[0].path(),
            "/api/v1/namespaces/default/pods/web-0"
        );
        assert_eq!(leaving(&json!({"kind": "Status"})), []);
    }
}
