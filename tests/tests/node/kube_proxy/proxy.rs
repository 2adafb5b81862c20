//! kube-proxy on a node, as kubeadm installs it, and a pod beside it that uses Services.

use std::time::Duration;

use anyhow::Context;
use dynk8s_lab::region::until;
use serde_json::{Value, json};

use crate::stage::{Node, Stage};

const CLIENT: &str = include_str!("client.json");
const SOON: Duration = Duration::from_secs(20);
/// An emulated machine has to unpack and start them.
const RUNNING_WITHIN: Duration = Duration::from_secs(90);

pub(super) async fn add(stage: &Stage, node: &Node) -> anyhow::Result<()> {
    let cluster = &stage.region.control_plane;
    cluster.add_kube_proxy().await?;
    let mut client: Value = serde_json::from_str(CLIENT)?;
    client["spec"]["nodeName"] = json!(node.newcomer.instance.id);
    // The controller manager makes it in its own time, and a pod needs it.
    until("the namespace has its ServiceAccount", SOON, async || {
        stage.region.get(&["serviceaccount", "default"]).await
    })
    .await?;
    cluster.apply(&client.to_string()).await?;
    runs(stage, node).await?;
    until("the client runs", RUNNING_WITHIN, async || {
        let pod = stage.region.get(&["pod", "client"]).await?;
        Ok(pod.filter(is_running))
    })
    .await?;
    Ok(())
}

pub(super) async fn remove(stage: &Stage) -> anyhow::Result<()> {
    stage.region.control_plane.remove_kube_proxy().await
}

/// As after a boot: another pod, and nothing left of what the one before did.
pub(super) async fn restart(stage: &Stage, node: &Node) -> anyhow::Result<()> {
    let before = name(
        &find(stage, node)
            .await?
            .context("failed to find the pod of kube-proxy")?,
    );
    let words = ["delete", "pod", "--namespace=kube-system", &before, "--grace-period=1"];
    stage.region.control_plane.kubectl(&words).await?;
    node.machine
        .run(&["nft", "delete", "table", "ip", "kube-proxy"])
        .await?;
    runs(stage, node).await.map(drop)
}

/// Waits until the node's pod of kube-proxy runs, and returns its name.
pub(super) async fn runs(stage: &Stage, node: &Node) -> anyhow::Result<String> {
    let pod = until("kube-proxy has a pod", SOON, async || find(stage, node).await).await?;
    if pod["spec"]["nodeName"].is_null() {
        stage
            .region
            .control_plane
            .place(&pod, &node.newcomer.instance.id)
            .await?;
    }
    let pod = until("kube-proxy runs", RUNNING_WITHIN, async || {
        Ok(find(stage, node).await?.filter(is_running))
    })
    .await?;
    Ok(name(&pod))
}

/// The pod that the `DaemonSet` has made for this node and no other.
async fn find(stage: &Stage, node: &Node) -> anyhow::Result<Option<Value>> {
    let words = ["pods", "--namespace=kube-system", "--selector=k8s-app=kube-proxy"];
    let list = stage.region.get(&words).await?.unwrap_or_default();
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    let ours = json!([node.newcomer.instance.id]);
    Ok(pods.into_iter().find(|pod| {
        let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let leaves = pod["metadata"]["deletionTimestamp"].is_string();
        terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ours && !leaves
    }))
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
