//! Instances: list and release; and what a wrong command line comes to.

use anyhow::ensure;
use dynk8s_lab::cluster::NAMESPACE;
use serde_json::json;

use crate::stage::Stage;

const INSTANCE: &str = "i-0123456789abcdef0";

pub(crate) async fn are_listed_and_released(stage: &mut Stage) -> anyhow::Result<()> {
    let worker = json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker",
        "metadata": { "name": INSTANCE, "namespace": NAMESPACE }, "spec": { "instanceId": INSTANCE, "wished": "running" } });
    stage.region.control_plane.apply(&worker.to_string()).await?;
    let said = stage.ends("workers list", 0)?;
    ensure!(said.out.contains(INSTANCE), "{said:?}");
    // Nobody is at a terminal here.
    let said = stage.ends(&format!("workers release {INSTANCE}"), 1)?;
    ensure!(said.notes.contains("--yes"), "{said:?}");
    stage.ends("workers release --yes i-0fffffffffffffff0", 1)?;
    stage.ends(&format!("workers release --yes {INSTANCE}"), 0)?;
    let wished = format!("get worker {INSTANCE} --namespace={NAMESPACE} -o jsonpath={{.spec.wished}}");
    ensure!(stage.kubectl(&wished).await? == "gone");
    let said = stage.ends(&format!("workers release --yes {INSTANCE}"), 0)?;
    ensure!(said.out.contains("already"), "{said:?}");
    Ok(())
}

pub(crate) async fn wrong_words_are_code_2(stage: &mut Stage) -> anyhow::Result<()> {
    for words in [
        "keys steal",
        "keys import",
        "keys list --context nowhere",
        "workers release not-an-instance",
        "config check --config nowhere.toml",
    ] {
        stage.ends(words, 2)?;
    }
    Ok(())
}
