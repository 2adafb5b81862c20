//! `reconcile` and the Secrets of its own namespace: keys, what instances join with, and the provisioner's own key.

use serde_json::{Value, json};

use crate::stage::{INSTANCE, Stage, Who, file};

const KEY: &str = "policy-key";
const OWN: &str = "policy-own-key";
const RETIRED: &str = r#"{"metadata":{"labels":{"dynk8s.du5t1n.me/retired":"true"}}}"#;

/// A key of the pool as an operator makes it.
fn key() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "dynk8s.du5t1n.me/wireguard-key",
        "metadata": {
            "name": KEY,
            "namespace": "dynk8s-system",
            "labels": {"dynk8s.du5t1n.me/ec2-instance-id": "", "example.com/pool": "a"},
        },
        "stringData": {"wireguard-config": "not read here"},
    })
}

pub(crate) fn reconcile_labels_keys_and_changes_none(stage: &Stage) -> anyhow::Result<()> {
    let own = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": OWN, "namespace": "dynk8s-system"},
        "stringData": {"private-key": "a key"},
    });
    for object in [key(), own] {
        stage.allowed(Who::Admin, &format!("create -f {}", file(&object)?))?;
    }
    let patch = |name: &str, patch: &str| format!("patch secret {name} -n dynk8s-system --type=merge -p {patch}");
    let held = |by: &str| format!(r#"{{"metadata":{{"labels":{{"dynk8s.du5t1n.me/ec2-instance-id":{by}}}}}}}"#);
    let assigned = "only keys that are assigned";
    for (change, words) in [
        (r#"{"data":{"wireguard-config":"eA=="}}"#.to_owned(), "never changed"),
        (r#"{"data":{"more":"eA=="}}"#.to_owned(), "never changed"),
        (r#"{"immutable":true}"#.to_owned(), "never changed"),
        (
            r#"{"metadata":{"finalizers":["example.com/x"]}}"#.to_owned(),
            "never changed",
        ),
        (
            r#"{"metadata":{"labels":{"example.com/pool":"b"}}}"#.to_owned(),
            "of a key's labels",
        ),
        (
            r#"{"metadata":{"labels":{"example.com/pool":null}}}"#.to_owned(),
            "of a key's labels",
        ),
        (
            r#"{"metadata":{"labels":{"example.com/more":"b"}}}"#.to_owned(),
            "of a key's labels",
        ),
        (held("null"), "from free to an instance"),
        (held(r#""somebody""#), "from free to an instance"),
    ] {
        stage.refused(Who::Reconcile, &(patch(KEY, &change) + " --dry-run=server"), words)?;
    }
    stage.refused(
        Who::Reconcile,
        &patch(OWN, r#"{"data":{"private-key":"eA=="}}"#),
        assigned,
    )?;
    stage.refused(
        Who::Reconcile,
        &patch(OWN, r#"{"metadata":{"labels":{"a":"b"}}}"#),
        assigned,
    )?;
    for name in [KEY, OWN] {
        stage.refused(
            Who::Reconcile,
            &format!("delete secret {name} -n dynk8s-system"),
            assigned,
        )?;
    }
    stage.allowed(Who::Reconcile, &patch(KEY, &held(&format!("\"{INSTANCE}\""))))?;
    let another = patch(KEY, &held(r#""i-0aaaaaaaaaaaaaaa9""#));
    stage.refused(Who::Reconcile, &another, "from free to an instance")?;
    let delete = format!("delete secret {KEY} -n dynk8s-system");
    stage.allowed(Who::Admin, &patch(KEY, RETIRED))?;
    stage.refused(Who::Reconcile, &delete, assigned)?;
    stage.allowed(Who::Reconcile, &patch(KEY, &held(r#""""#)))?;
    // What `keys retire` marked goes once its instance is gone.
    stage.allowed(Who::Reconcile, &delete)?;
    Ok(())
}

/// What an instance joins with, then changed.
fn join(change: impl FnOnce(&mut Value)) -> anyhow::Result<String> {
    let name = "i-0aaaaaaaaaaaaaaa8";
    let owner = json!({"apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker", "name": name, "uid": "x"});
    let mut join = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "dynk8s.du5t1n.me/join",
        "metadata": {
            "name": name,
            "namespace": "dynk8s-system",
            "labels": {"dynk8s.du5t1n.me/ec2-instance-id": name},
            "ownerReferences": [owner],
        },
        "stringData": {"token-id": "abcdef"},
    });
    change(&mut join);
    file(&join)
}

pub(crate) fn reconcile_keeps_tokens_and_nothing_else(stage: &Stage) -> anyhow::Result<()> {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 6] = [
        (|it| it["type"] = json!("Opaque"), "only keys that are assigned"),
        (
            |it| it["type"] = json!("dynk8s.du5t1n.me/wireguard-key"),
            "only keys that are assigned",
        ),
        (
            |it| it["metadata"]["name"] = json!("dynk8s-provisioner-key"),
            "has the instance's name",
        ),
        (
            |it| it["metadata"]["name"] = json!("i-0aaaaaaaaaaaaaaa7"),
            "has the instance's name",
        ),
        (
            |it| drop(it["metadata"].as_object_mut().map(|it| it.remove("ownerReferences"))),
            "goes with its Worker",
        ),
        (
            |it| it["metadata"]["ownerReferences"][0]["kind"] = json!("Node"),
            "goes with its Worker",
        ),
    ];
    for (change, words) in cases {
        stage.refused(
            Who::Reconcile,
            &format!("create --dry-run=server -f {}", join(change)?),
            words,
        )?;
    }
    stage.allowed(Who::Reconcile, &format!("create --dry-run=server -f {}", join(|_| {})?))?;
    Ok(())
}
