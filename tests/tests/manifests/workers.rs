//! `serve`, and Workers.

use serde_json::{Value, json};

use crate::stage::{INSTANCE, Stage, Who, file};
use dynk8s_lab::cluster::NAMESPACE;

fn worker(name: &str, instance: &str, wished: &str) -> Value {
    json!({
        "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"instanceId": instance, "wished": wished},
    })
}

fn own_key(name: &str, field: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "stringData": {field: "a key"},
    })
}

pub(crate) fn serve_records_and_reads_by_name(stage: &Stage) -> anyhow::Result<()> {
    let created = file(&worker(INSTANCE, INSTANCE, "running"))?;
    stage.allowed(Who::Serve, &format!("create -f {created}"))?;
    for allowed in [
        "get workers -n dynk8s-system",
        r#"patch worker i-0123456789abcdef0 -n dynk8s-system --type=merge --subresource=status -p {"status":{"contested":"2026-12-02T00:00:00Z"}}"#,
        r#"patch worker i-0123456789abcdef0 -n dynk8s-system --type=merge -p {"spec":{"wished":"gone"}}"#,
        "get configmap kube-root-ca.crt -n dynk8s-system",
        "get --raw /version",
    ] {
        stage.allowed(Who::Serve, allowed)?;
    }
    let key = file(&own_key("dynk8s-provisioner-key", "private-key"))?;
    stage.allowed(Who::Serve, &format!("create -f {key}"))?;
    stage.allowed(Who::Serve, "get secret dynk8s-provisioner-key -n dynk8s-system")?;
    leaves_the_rest_of_a_worker_alone(stage, Who::Serve, INSTANCE)?;
    let back = r#"patch worker i-0123456789abcdef0 -n dynk8s-system --type=merge -p {"spec":{"wished":"running"}}"#;
    stage.refused(Who::Serve, back, "what is gone stays gone")
}

/// What neither half of the provisioner may do to a Worker.
fn leaves_the_rest_of_a_worker_alone(stage: &Stage, who: Who, name: &str) -> anyhow::Result<()> {
    let patch = format!("patch worker {name} -n {NAMESPACE} --type=merge --dry-run=server -p ");
    for (change, words) in [
        (r#"{"spec":{"forced":true}}"#, "only an operator"),
        (r#"{"spec":{"wished":"gone","forced":true}}"#, "only an operator"),
        (r#"{"metadata":{"finalizers":["example.com/never"]}}"#, "no finalizers"),
        (
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}"#,
            "no owners",
        ),
    ] {
        stage.refused(who, &format!("{patch}{change}"), words)?;
    }
    let mut forced = worker("i-00000003", "i-00000003", "gone");
    forced["spec"]["forced"] = true.into();
    let forced = file(&forced)?;
    stage.refused(who, &format!("create --dry-run=server -f {forced}"), "only an operator")
}

pub(crate) fn serve_has_no_power(stage: &Stage) -> anyhow::Result<()> {
    for refused in [
        "get secrets -n dynk8s-system",
        "get secret bootstrap-signer -n kube-system",
        "get configmap dynk8s-provisioner -n dynk8s-system",
        "get nodes",
        "get csr",
        "get workers -n default",
        "delete worker i-00000000 -n dynk8s-system",
        "patch secret dynk8s-provisioner-key -n dynk8s-system -p {}",
        "patch node i-00000000 -p {}",
        "delete secret bootstrap-token-abcdef -n kube-system",
        "delete secret dynk8s-provisioner-key -n dynk8s-system",
        "create token dynk8s-provisioner-reconcile -n dynk8s-system",
    ] {
        stage.refused(Who::Serve, refused, "forbidden")?;
    }
    let elsewhere =
        file(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "namespace": "kube-system"}}))?;
    stage.refused(Who::Serve, &format!("create -f {elsewhere}"), "forbidden")?;
    for (name, field, words) in [
        ("other", "private-key", "only the provisioner's own key"),
        ("dynk8s-provisioner-key", "other", "only the field `private-key`"),
    ] {
        let secret = file(&own_key(name, field))?;
        stage.refused(Who::Serve, &format!("create --dry-run=server -f {secret}"), words)?;
    }
    Ok(())
}

pub(crate) fn a_worker_is_what_its_definition_says(stage: &Stage) -> anyhow::Result<()> {
    for (object, words) in [
        (
            worker("i-00000001", "i-00000002", "running"),
            "a Worker is named by its instance",
        ),
        (worker("anything", "anything", "running"), "spec.instanceId"),
        (worker("i-00000001", "i-00000001", "stopped"), "spec.wished"),
    ] {
        stage.refused(
            Who::Admin,
            &format!("create --dry-run=server -f {}", file(&object)?),
            words,
        )?;
    }
    Ok(())
}

pub(crate) fn reconcile_stays_in_its_own_namespace(stage: &Stage) -> anyhow::Result<()> {
    let created = file(&worker("i-0aaaaaaaaaaaaaaa6", "i-0aaaaaaaaaaaaaaa6", "running"))?;
    stage.allowed(Who::Admin, &format!("create -f {created}"))?;
    stage.allowed(Who::Reconcile, "get workers -n dynk8s-system")?;
    for refused in [
        "get workers -n default",
        "get configmap dynk8s-provisioner -n dynk8s-system",
        "get events -n dynk8s-system",
        "create configmap x -n dynk8s-system",
        "create serviceaccount x -n dynk8s-system",
        "delete worker i-0aaaaaaaaaaaaaaa6 -n default",
    ] {
        stage.refused(Who::Reconcile, refused, "forbidden")?;
    }
    leaves_the_rest_of_a_worker_alone(stage, Who::Reconcile, "i-0aaaaaaaaaaaaaaa6")?;
    operators_may_force(stage)?;
    stage.allowed(Who::Reconcile, "get configmap kube-root-ca.crt -n dynk8s-system")?;
    stage.allowed(
        Who::Reconcile,
        "delete worker i-0aaaaaaaaaaaaaaa6 -n dynk8s-system --wait=false",
    )?;
    Ok(())
}

/// What an operator has said stays said, whoever wishes the Worker gone afterwards.
fn operators_may_force(stage: &Stage) -> anyhow::Result<()> {
    let patch = "patch worker i-0aaaaaaaaaaaaaaa6 -n dynk8s-system --type=merge -p ";
    stage.allowed(Who::Admin, &format!(r#"{patch}{{"spec":{{"forced":true}}}}"#))?;
    let back = format!(r#"{patch}{{"spec":{{"forced":false}}}}"#);
    stage.refused(Who::Reconcile, &back, "only an operator")?;
    for who in [Who::Reconcile, Who::Serve] {
        stage.allowed(who, &format!(r#"{patch}{{"spec":{{"wished":"gone"}}}}"#))?;
    }
    Ok(())
}
