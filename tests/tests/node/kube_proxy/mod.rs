//! The incident that dynk8s came of: kube-proxy, which lives in the host's network and has the host's resolvers, asks the one of
//! AWS for the API server, and no Service works on the node. With names that are right, all of it works; with those that DHCP
//! gives, and nothing else changed, the same look at the same node finds it again. Where pods have Services, the provisioner's image can
//! be deployed, too.

mod provisioner;
mod proxy;
mod symptoms;

use anyhow::{Context, ensure};
use dynk8s_lab::region::Equipment;
use dynk8s_lab::topology::addresses::{VPC_DOMAIN, VPC_RESOLVER};

use self::symptoms::symptoms;
use crate::stage::{Node, Stage};

/// Where the image has what its containers are made of.
const IMAGES: &str = "/var/lib/images.tar";
/// What the kubelet hands to pods like kube-proxy.
const KUBELET_FILE: &str = "/etc/dynk8s/resolv.conf";

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let node = stage
        .joined(Equipment {
            memory: Some(3072),
            files: vec![provisioner::archive(&stage.provisioner_image)?],
            ..Equipment::default()
        })
        .await?;
    let import = ["ctr", "--namespace=k8s.io", "images", "import", IMAGES];
    node.machine.run(&import).await?;
    proxy::add(stage, &node).await?;
    let outcome = with_and_without_names(stage, &node).await;
    proxy::remove(stage).await.and(outcome)
}

async fn with_and_without_names(stage: &mut Stage, node: &Node) -> anyhow::Result<()> {
    let found = symptoms(stage, node).await?;
    ensure!(found.is_empty(), "the incident is here: {}", found.join("; "));
    provisioner::runs_as_pods(stage, node).await?;

    undo_names(node).await?;
    proxy::restart(stage, node).await?;
    let found = symptoms(stage, node).await?;
    for symptom in [
        format!("kube-proxy's resolvers are [\"{VPC_RESOLVER}\"]"),
        format!("lookup api.onprem.example on {VPC_RESOLVER}:53: no such host"),
        "no answer from 10.96.0.1".to_owned(),
    ] {
        ensure!(
            found.iter().any(|it| it.contains(&symptom)),
            "without the names step, `{symptom}` is not what is found, but: {found:?}"
        );
    }
    Ok(())
}

/// Gives pods the resolver that DHCP gives the instance, with nobody there who would put it right.
async fn undo_names(node: &Node) -> anyhow::Result<()> {
    node.machine.run(&["systemctl", "stop", "dynk8s-agent"]).await?;
    let script = format!("printf 'nameserver {VPC_RESOLVER}\\nsearch {VPC_DOMAIN}\\n' > {KUBELET_FILE}");
    let undone = node.machine.run(&["sh", "-c", &script]).await;
    undone.map(drop).context("failed to undo the names step")
}
