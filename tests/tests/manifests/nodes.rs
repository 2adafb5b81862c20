//! `reconcile` and Nodes, and what an instance may register.

use serde_json::{Value, json};

use crate::certificates::as_node;
use crate::stage::{Stage, Who, file};

const STARTUP_TAINT: &str = "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s";
const NODE: &str = "i-0aaaaaaaaaaaaaaa0";
const CONTROL_PLANE: &str = "i-0bbbbbbbbbbbbbbb0";

fn node(name: &str, taints: &Value) -> anyhow::Result<String> {
    file(&json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"taints": taints},
    }))
}

fn startup_taint() -> Value {
    json!([{"key": STARTUP_TAINT, "effect": "NoSchedule"}])
}

pub(crate) fn reconcile_settles_nodes_of_instances(stage: &Stage) -> anyhow::Result<()> {
    stage.allowed(Who::Admin, &format!("create -f {}", node(NODE, &startup_taint())?))?;
    stage.refused(
        Who::Reconcile,
        &format!("annotate node {NODE} x=y --dry-run=server"),
        "only labels, taints and unschedulable",
    )?;
    for (patch, words) in [
        (
            r#"{"spec":{"providerID":"aws:///eu-central-1a/i-00000000"}}"#,
            "only labels, taints",
        ),
        (
            r#"{"metadata":{"finalizers":["example.com/x"]}}"#,
            "only labels, taints",
        ),
        (
            r#"{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}"#,
            "never a control plane",
        ),
        (
            r#"{"metadata":{"labels":{"node-role.kubernetes.io/master":""}}}"#,
            "never a control plane",
        ),
    ] {
        let patch = format!("patch node {NODE} --dry-run=server --type=merge -p {patch}");
        stage.refused(Who::Reconcile, &patch, words)?;
    }
    for patch in [
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}}}"#,
        r#"{"spec":{"taints":[]}}"#,
        r#"{"spec":{"unschedulable":true}}"#,
    ] {
        stage.allowed(Who::Reconcile, &format!("patch node {NODE} --type=merge -p {patch}"))?;
    }
    stage.allowed(Who::Reconcile, &format!("delete node {NODE}"))?;
    Ok(())
}

pub(crate) fn reconcile_touches_no_other_node(stage: &Stage) -> anyhow::Result<()> {
    for name in ["on-premises", CONTROL_PLANE] {
        stage.allowed(Who::Admin, &format!("create -f {}", node(name, &json!([]))?))?;
    }
    stage.allowed(
        Who::Admin,
        &format!("label node {CONTROL_PLANE} node-role.kubernetes.io/control-plane="),
    )?;
    for (name, words) in [
        ("on-premises", "only Nodes that are named like instances"),
        (CONTROL_PLANE, "never a control plane"),
    ] {
        for what in [
            format!("label node {name} x=y --dry-run=server"),
            format!("taint node {name} x=y:NoSchedule --dry-run=server"),
            format!("delete node {name} --dry-run=server"),
        ] {
            stage.refused(Who::Reconcile, &what, words)?;
        }
    }
    stage.refused(
        Who::Reconcile,
        &format!("label node {CONTROL_PLANE} node-role.kubernetes.io/control-plane- --dry-run=server"),
        "never a control plane",
    )?;
    let created = node("i-0000000f", &json!([]))?;
    stage.refused(Who::Reconcile, &format!("create -f {created}"), "forbidden")?;
    let status = r#"patch node on-premises --subresource=status --type=merge -p {"status":{"phase":"Running"}}"#;
    stage.refused(Who::Reconcile, status, "forbidden")
}

pub(crate) fn an_instance_registers_with_the_startup_taint(stage: &Stage) -> anyhow::Result<()> {
    let create = |name: &str, taints: &Value, provider_id: &str| {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": {"taints": taints, "providerID": provider_id},
        });
        let path = file(&node)?;
        anyhow::Ok(format!("create --dry-run=server -f {path} {}", as_node(name)))
    };
    let id = "aws:///eu-central-1a/i-0000000a";
    let needs = "must be registered with the taint";
    let preferred = json!([{"key": STARTUP_TAINT, "effect": "PreferNoSchedule"}]);
    stage.refused(Who::Admin, &create("i-0000000a", &json!([]), id)?, needs)?;
    stage.refused(Who::Admin, &create("i-0000000a", &preferred, id)?, needs)?;
    let needs = "must be registered with the provider id";
    for another in [
        "",
        "aws:///eu-central-1a/i-0000000b",
        "aws:////i-0000000a",
        "gce:///x/i-0000000a",
    ] {
        stage.refused(Who::Admin, &create("i-0000000a", &startup_taint(), another)?, needs)?;
    }
    stage.allowed(Who::Admin, &create("i-0000000a", &startup_taint(), id)?)?;
    stage.allowed(Who::Admin, &create("worker-1", &json!([]), "")?)?;
    Ok(())
}

/// What the API server itself holds a kubelet to, and all of this relies on.
pub(crate) fn an_instance_cannot_open_its_own_node(stage: &Stage) -> anyhow::Result<()> {
    let name = "i-0000000d";
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"taints": startup_taint(), "providerID": format!("aws:///eu-central-1a/{name}")},
    });
    let (itself, another) = (as_node(name), as_node("i-0000000e"));
    stage.refused(
        Who::Admin,
        &format!("create -f {} {another}", file(&node)?),
        "forbidden",
    )?;
    let mut labelled = node.clone();
    labelled["metadata"]["labels"] = json!({"node-role.kubernetes.io/burst": ""});
    stage.refused(
        Who::Admin,
        &format!("create -f {} {itself}", file(&labelled)?),
        "forbidden",
    )?;
    stage.allowed(Who::Admin, &format!("create -f {} {itself}", file(&node)?))?;
    for patch in [
        r#"{"spec":{"taints":[]}}"#,
        r#"{"metadata":{"labels":{"node-role.kubernetes.io/burst":""}}}"#,
        r#"{"metadata":{"labels":{"node-restriction.kubernetes.io/x":""}}}"#,
    ] {
        let patch = format!("patch node {name} --type=merge -p {patch} {itself}");
        stage.refused(Who::Admin, &patch, "forbidden")?;
    }
    let own = r#"{"metadata":{"labels":{"example.com/own":"label"}}}"#;
    stage.allowed(Who::Admin, &format!("patch node {name} --type=merge -p {own} {itself}"))?;
    stage.refused(Who::Admin, &format!("delete node {name} {itself}"), "forbidden")?;
    stage.allowed(Who::Admin, &format!("delete node {name}"))?;
    Ok(())
}
