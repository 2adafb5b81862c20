//! `reconcile` and Secrets.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{INSTANCE, Stage, Who, file};

fn in_minutes(minutes: u64) -> String {
    format!("{:.0}", jiff::Timestamp::now() + Duration::from_mins(minutes))
}

/// A token as `reconcile` makes it, then changed.
fn token(change: impl FnOnce(&mut Value)) -> anyhow::Result<String> {
    let mut token = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {
            "name": "bootstrap-token-abcdef",
            "namespace": "kube-system",
            "labels": {"dynk8s.du5t1n.me/ec2-instance-id": INSTANCE},
        },
        "stringData": {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "expiration": in_minutes(12),
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:dynk8s:node",
            "description": "dynk8s: one instance, one join",
        },
    });
    change(&mut token);
    file(&token)
}

pub(crate) fn reconcile_makes_tokens_of_our_group(stage: &Stage) -> anyhow::Result<()> {
    let token = token(|_| {})?;
    stage.allowed(Who::Reconcile, &format!("create -f {token}"))?;
    stage.allowed(
        Who::Reconcile,
        "delete secret bootstrap-token-abcdef -n kube-system --wait=false",
    )?;
    stage.allowed(Who::Reconcile, "get secrets -n dynk8s-system")?;
    Ok(())
}

pub(crate) fn reconcile_makes_no_other_secret(stage: &Stage) -> anyhow::Result<()> {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 13] = [
        (|it| it["type"] = json!("Opaque"), "only bootstrap tokens"),
        (
            |it| it["metadata"]["name"] = json!("bootstrap-token-x"),
            "only bootstrap tokens",
        ),
        (
            |it| it["metadata"]["labels"] = json!({}),
            "only tokens that are labelled with an instance",
        ),
        (
            |it| it["metadata"]["labels"]["dynk8s.du5t1n.me/ec2-instance-id"] = json!("master"),
            "only tokens that are labelled with an instance",
        ),
        (
            |it| it["stringData"]["usage-bootstrap-signing"] = json!("true"),
            "exactly the fields of our tokens",
        ),
        (
            |it| drop(it["stringData"].as_object_mut().map(|it| it.remove("expiration"))),
            "exactly the fields of our tokens",
        ),
        (
            |it| it["stringData"]["auth-extra-groups"] = json!("system:bootstrappers:kubeadm:default-node-token"),
            "only the group",
        ),
        (
            |it| {
                let both = "system:bootstrappers:dynk8s:node,system:bootstrappers:kubeadm:default-node-token";
                it["stringData"]["auth-extra-groups"] = json!(both);
            },
            "only the group",
        ),
        (
            |it| it["stringData"]["expiration"] = json!(in_minutes(21)),
            "expires within 20 minutes",
        ),
        (
            |it| it["stringData"]["expiration"] = json!("2099-01-01T00:00:00Z"),
            "expires within 20 minutes",
        ),
        (
            |it| it["stringData"]["expiration"] = json!("2026-12-02T00:00:00+01"),
            "expires within 20 minutes",
        ),
        (
            |it| it["stringData"]["expiration"] = json!(""),
            "expires within 20 minutes",
        ),
        (
            |it| it["metadata"]["finalizers"] = json!(["example.com/forever"]),
            "no owners and no finalizers",
        ),
    ];
    for (change, words) in cases {
        stage.refused(
            Who::Reconcile,
            &format!("create --dry-run=server -f {}", token(change)?),
            words,
        )?;
    }
    let elsewhere = token(|it| it["metadata"]["namespace"] = json!("default"))?;
    stage.refused(Who::Reconcile, &format!("create -f {elsewhere}"), "forbidden")
}

pub(crate) fn reconcile_deletes_no_other_secret(stage: &Stage) -> anyhow::Result<()> {
    let foreign = token(|it| {
        it["metadata"] = json!({"name": "bootstrap-token-zzzzzz", "namespace": "kube-system"});
        it["stringData"]["token-id"] = json!("zzzzzz");
    })?;
    let other =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "kube-system"}});
    for created in [foreign, file(&other)?] {
        stage.allowed(Who::Admin, &format!("create -f {created}"))?;
    }
    for (name, words) in [
        (
            "bootstrap-token-zzzzzz",
            "only tokens that are labelled with an instance",
        ),
        ("other", "only bootstrap tokens"),
    ] {
        stage.refused(
            Who::Reconcile,
            &format!("delete secret {name} -n kube-system --dry-run=server"),
            words,
        )?;
    }
    Ok(())
}

pub(crate) fn reconcile_reads_no_secret_of_the_cluster(stage: &Stage) -> anyhow::Result<()> {
    for refused in [
        "get secrets -n kube-system",
        "get secret other -n kube-system",
        "get secrets -A",
        "get configmaps -n kube-system",
        "get pods -A",
        "create token dynk8s-provisioner-serve -n dynk8s-system",
        "create clusterrolebinding x --clusterrole=cluster-admin --user=x",
    ] {
        stage.refused(Who::Reconcile, refused, "forbidden")?;
    }
    Ok(())
}
