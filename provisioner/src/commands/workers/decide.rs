//! What an operator wants to know of an instance, and whether he may release it.

use jiff::Timestamp;
use serde::Serialize;

use crate::worker::{Phase, Wish, Worker, WorkerStatus};

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) phase: Option<Phase>,
    pub(super) node: Option<String>,
    pub(super) key: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) zone: Option<String>,
    pub(super) created: Option<Timestamp>,
    /// What it waits for, or what the last turn was: a condition's reason and sentence.
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    /// What went wrong on the node, as the agent reported last.
    pub(super) error: Option<String>,
}

pub(super) fn summary(worker: &Worker) -> Summary {
    let unknown = WorkerStatus::default();
    let status = worker.status.as_ref().unwrap_or(&unknown);
    let node = status.node.as_ref();
    // What is not so explains more than what is; of several, what turned last.
    let turn = status
        .conditions
        .iter()
        .max_by_key(|it| (it.status != "True", it.last_transition_time.0));
    Summary {
        name: worker.metadata.name.clone().unwrap_or_default(),
        phase: status.phase,
        node: node.map(|it| it.name.clone()),
        key: status.key.clone(),
        instance_type: node.and_then(|it| it.instance_type.clone()),
        zone: node.and_then(|it| it.zone.clone()),
        created: worker.metadata.creation_timestamp.as_ref().map(|it| it.0),
        reason: turn.map(|it| it.reason.clone()),
        message: turn.map(|it| it.message.clone()),
        error: status.journey.as_ref().and_then(last_error),
    }
}

fn last_error(journey: &crate::worker::Journey) -> Option<String> {
    let of_step = |it: &crate::worker::Step| it.error.as_ref().map(|error| format!("{}: {error}", it.name));
    journey
        .error
        .clone()
        .or_else(|| journey.steps.iter().rev().find_map(of_step))
}

/// What becomes of the wish to release an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Everything of this is taken back.
    Now { what: String },
    /// That was said before.
    Already,
    /// Not without `--force`.
    Refused(String),
}

pub(super) fn release(worker: &Worker, force: bool) -> Release {
    let unknown = WorkerStatus::default();
    let status = worker.status.as_ref().unwrap_or(&unknown);
    if worker.spec.wished == Wish::Gone && status.phase != Some(Phase::Suspect) {
        return Release::Already;
    }
    let node = status.node.as_ref();
    if let Some(node) = node.filter(|it| it.ready && !force) {
        return Release::Refused(format!(
            "its Node `{}` is Ready, so it still runs; terminate the instance, or say `--force`",
            node.name
        ));
    }
    let parts = [
        status.key.as_ref().map(|it| format!("the key `{it}`")),
        status
            .token
            .as_ref()
            .map(|it| format!("the bootstrap token `{}`", it.id)),
        node.map(|it| format!("the Node `{}`", it.name)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let what = if parts.is_empty() {
        "nothing yet".to_owned()
    } else {
        parts.join(", ")
    };
    Release::Now { what }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::{Release, release, summary};
    use crate::worker::Worker;

    fn worker(wished: &str, status: &Value) -> Worker {
        serde_json::from_value(json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker",
            "metadata": { "name": "i-0123456789abcdef0" },
            "spec": { "instanceId": "i-0123456789abcdef0", "wished": wished }, "status": status }))
        .unwrap()
    }

    fn condition(kind: &str, status: &str, at: &str) -> Value {
        json!({ "type": kind, "status": status, "reason": format!("Of{kind}"), "message": format!("about {kind}"),
            "lastTransitionTime": format!("2026-12-01T00:00:{at}Z") })
    }

    fn node(ready: bool) -> Value {
        json!({ "name": "i-0123456789abcdef0", "uid": "1", "ready": ready })
    }

    #[test_case("running", &json!({}), false, Some("nothing yet"); "nothing was handed out")]
    #[test_case("running", &json!({ "key": "burst-1", "node": node(false) }), false,
        Some("the key `burst-1`, the Node `i-0123456789abcdef0`"); "what it has is named")]
    #[test_case("running", &json!({ "node": node(true) }), true, Some("the Node `i-0123456789abcdef0`"); "a Ready one by force")]
    #[test_case("running", &json!({ "node": node(true) }), false, None; "not a Ready one")]
    fn releases_what_does_not_run(wished: &str, status: &Value, force: bool, expected: Option<&str>) {
        match (release(&worker(wished, status), force), expected) {
            (Release::Now { what }, Some(expected)) => assert_eq!(what, expected),
            (Release::Refused(why), None) => assert!(why.contains("--force"), "{why}"),
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_gone_is_released_already() {
        let ready = json!({ "node": node(true) });
        assert_eq!(release(&worker("gone", &ready), false), Release::Already);
    }

    #[test_case(&json!([condition("Claimed", "True", "09"), condition("KeyAssigned", "False", "01")]), "OfKeyAssigned";
        "what is missing counts more than what came later")]
    #[test_case(&json!([condition("Claimed", "True", "01"), condition("Joined", "True", "09")]), "OfJoined"; "else the last turn")]
    fn the_reason_explains(conditions: &Value, expected: &str) {
        let summary = summary(&worker("running", &json!({ "conditions": conditions })));
        assert_eq!(summary.reason.as_deref(), Some(expected));
    }

    #[test]
    fn the_last_error_is_the_journeys_or_that_of_its_last_step() {
        let step = |name: &str, error: Value| json!({ "name": name, "startedMs": 0, "attempts": 1, "error": error });
        let steps = json!([
            step("claim", "early".into()),
            step("tunnel", "no handshake".into()),
            step("names", Value::Null)
        ]);
        let mut journey = json!({ "outcome": "running", "time": "2026-12-01T00:00:00Z", "steps": steps });
        let error = |journey: &Value| summary(&worker("running", &json!({ "journey": journey }))).error;
        assert_eq!(error(&journey).as_deref(), Some("tunnel: no handshake"));
        journey["error"] = "gave up".into();
        assert_eq!(error(&journey).as_deref(), Some("gave up"));
    }
}
