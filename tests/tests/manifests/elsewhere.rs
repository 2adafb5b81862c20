//! The policies where kustomize was given another namespace, and a cluster that lacks them.

use std::thread::sleep;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::replicas::Replica;
use crate::stage::{Stage, Who, file};
use crate::watching::within;

/// It asks three times before it tells.
const PATIENCE: Duration = Duration::from_secs(25);

const ELSEWHERE: &str = "elsewhere";

/// What an account may try, and whether it is denied.
const ATTEMPTS: [(&str, &str, &str, Option<&str>); 6] = [
    ("reconcile", "kube-system", "another", Some("only bootstrap tokens")),
    ("reconcile", ELSEWHERE, "another", Some("only keys that are assigned")),
    ("serve", ELSEWHERE, "another", Some("only the provisioner's own key")),
    (
        "serve",
        "default",
        "dynk8s-provisioner-key",
        Some("only the provisioner's own key"),
    ),
    ("serve", ELSEWHERE, "dynk8s-provisioner-key", None),
    ("somebody", ELSEWHERE, "another", None),
];

fn secret(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": {"private-key": "a key"},
    })
}

/// Nothing but the policies is between these accounts and everything.
pub(crate) fn policies_hold_anywhere(stage: &Stage) -> anyhow::Result<()> {
    stage.allowed(Who::Admin, "create namespace elsewhere")?;
    stage.allowed(
        Who::Admin,
        "create clusterrolebinding elsewhere --clusterrole=cluster-admin --group=system:serviceaccounts:elsewhere",
    )?;
    for (account, namespace, name, denied) in ATTEMPTS {
        let secret = file(&secret(namespace, name))?;
        let attempt = format!(
            "create --dry-run=server -f {secret} --as=system:serviceaccount:elsewhere:dynk8s-provisioner-{account} \
             --as-group=system:serviceaccounts:elsewhere"
        );
        match denied {
            Some(words) => stage.refused(Who::Admin, &attempt, words)?,
            None => drop(stage.allowed(Who::Admin, &attempt)?),
        }
    }
    stage.allowed(Who::Admin, "delete clusterrolebinding elsewhere")?;
    stage.allowed(Who::Admin, "delete namespace elsewhere --wait=false")?;
    Ok(())
}

/// `reconcile` finds out at its start, and says so.
pub(crate) fn missing_policies_are_told(stage: &Stage) -> anyhow::Result<()> {
    const WORDS: &str = "no admission policy holds for this account";
    let binding = stage.json(&["get", "validatingadmissionpolicybinding", "dynk8s-tokens"])?;
    let again = json!({
        "apiVersion": binding["apiVersion"],
        "kind": binding["kind"],
        "metadata": {"name": binding["metadata"]["name"]},
        "spec": binding["spec"],
    });
    stage.allowed(Who::Admin, "delete validatingadmissionpolicybinding dynk8s-tokens")?;
    let attempt = format!(
        "create --dry-run=server -f {}",
        file(&secret("kube-system", "another"))?
    );
    within(PATIENCE, || stage.allowed(Who::Reconcile, &attempt))?;
    let open = Replica::start(stage, "open", 8086)?;
    let told = within(PATIENCE, || {
        let said = open.said()?;
        ensure!(said.contains(WORDS), "not told: {said}");
        Ok(())
    });
    stage.allowed(Who::Admin, &format!("create -f {}", file(&again)?))?;
    told?;
    open.forget()?;
    stage.refused(Who::Reconcile, &attempt, "only bootstrap tokens")?;
    let guarded = Replica::start(stage, "guarded", 8086)?;
    sleep(PATIENCE);
    let said = guarded.said()?;
    ensure!(!said.contains(WORDS), "told though they hold: {said}");
    guarded.forget()
}
