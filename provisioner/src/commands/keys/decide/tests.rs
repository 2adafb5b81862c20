//! The state of each key, from Secrets, Workers and Nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use test_case::test_case;

use super::inventory::{State, inventory};

const INSTANCE: &str = "i-0123456789abcdef0";
const DOCUMENT: &str = "[Interface]\nPrivateKey = CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = 10.98.0.2/32\n\
     DNS = 192.168.10.1\n[Peer]\nPublicKey = AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
     AllowedIPs = 10.98.0.0/24, 192.168.10.0/24\nEndpoint = vpn.onprem.example:51820\n";

fn secret(name: &str, labels: &Value, document: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": labels }, "data": { "wireguard-config": STANDARD.encode(document) } })
}

fn holder(name: &str) -> Value {
    json!({ "dynk8s.du5t1n.me/ec2-instance-id": name })
}

fn worker(status: &Value) -> Value {
    json!({ "metadata": { "name": INSTANCE }, "spec": { "instanceId": INSTANCE, "wished": "running" }, "status": status })
}

fn node(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "status": { "addresses": [{ "type": "InternalIP", "address": "10.98.0.2" }] } })
}

fn state(secret: Value, workers: Value, nodes: Value) -> (State, Vec<String>) {
    let of = |values: Value| serde_json::from_value(values).unwrap();
    let workers: Vec<_> = serde_json::from_value(workers).unwrap();
    let entry = inventory(
        &[of(secret)],
        &workers,
        &serde_json::from_value::<Vec<_>>(nodes).unwrap(),
    )
    .remove(0);
    (entry.state, entry.problems)
}

#[test_case(&holder(""), json!([]), json!([]), State::Free; "free")]
#[test_case(&json!({}), json!([]), json!([]), State::Unlabelled; "unlabelled")]
#[test_case(&holder(INSTANCE), json!([worker(&json!({}))]), json!([node(INSTANCE)]), State::InUse; "in use")]
#[test_case(&holder(INSTANCE), json!([worker(&json!({ "released": "2026-12-01T00:00:00Z" }))]), json!([]), State::Cooling; "cooling")]
#[test_case(&holder(INSTANCE), json!([worker(&json!({ "contested": "2026-12-01T00:00:00Z" }))]), json!([]), State::Quarantined;
    "quarantined")]
fn each_state_is_told(labels: &Value, workers: Value, nodes: Value, expected: State) {
    assert_eq!(
        state(secret("burst-1", labels, DOCUMENT), workers, nodes),
        (expected, vec![])
    );
}

#[test]
fn a_theft_after_the_join_leaves_the_key_where_it_is() {
    let status = json!({ "contested": "2026-12-01T00:00:00Z", "joined": "2026-12-01T00:00:00Z" });
    let (state, _) = state(
        secret("burst-1", &holder(INSTANCE), DOCUMENT),
        json!([worker(&status)]),
        json!([]),
    );
    assert_eq!(state, State::InUse);
}

#[test]
fn a_retired_key_is_not_free() {
    let mut labels = holder("");
    labels["dynk8s.du5t1n.me/retired"] = "true".into();
    assert_eq!(
        state(secret("burst-1", &labels, DOCUMENT), json!([]), json!([])).0,
        State::Retired
    );
}

#[test_case(&holder(""), "[Interface]\nPostUp = reboot", json!([]), State::Unusable, "line 2"; "a document that nobody applies")]
#[test_case(&holder(""), DOCUMENT, json!([node("other")]), State::Unusable, "`other` shows"; "an address that a Node shows")]
#[test_case(&holder(INSTANCE), DOCUMENT, json!([]), State::InUse, "no Worker"; "an instance that nobody knows")]
fn problems_are_told(labels: &Value, document: &str, nodes: Value, expected: State, problem: &str) {
    let (state, problems) = state(secret("burst-1", labels, document), json!([]), nodes);
    assert_eq!(state, expected);
    assert!(problems.iter().any(|it| it.contains(problem)), "{problems:?}");
}

#[test]
fn doubles_are_told_on_both() {
    let secrets = json!([secret("a", &holder(""), DOCUMENT), secret("b", &holder(""), DOCUMENT)]);
    let secrets: Vec<_> = serde_json::from_value(secrets).unwrap();
    for entry in inventory(&secrets, &[], &[]) {
        assert_eq!(entry.state, State::Unusable);
        assert_eq!(entry.problems.len(), 2, "{:?}", entry.problems);
    }
}

#[test]
fn a_secret_without_the_field_is_unusable() {
    let secrets = serde_json::from_value(json!({ "metadata": { "name": "a", "labels": holder("") } })).unwrap();
    let pool = inventory(&[secrets], &[], &[]);
    assert_eq!(pool[0].state, State::Unusable);
    assert!(pool[0].problems[0].contains("wireguard-config"));
}
