//! What happens to a node that has joined long ago.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::http::StatusCode;
use dynk8s_lab::aws::cloud::{Instance, Lifecycle};
use dynk8s_lab::aws::eventbridge::InstanceState;
use dynk8s_lab::region::{Cost, Site, until};
use dynk8s_lab::topology::addresses::{PREMISES_GATEWAY, VPC_RESOLVER};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::stage::{SOON, Stage};
use crate::tunnel::is_ready;

/// Where the gateway moves to.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 21);

const NOTICE: &str = "/latest/meta-data/spot/instance-action";

pub(crate) async fn gateway_moves(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    let topology = &stage.region.topology;
    topology.premises.add_public(ELSEWHERE)?;
    topology.vpc.move_gateway(ELSEWHERE)?;
    let _gone = topology.premises.lose_gateway_at_first_address()?;
    let moved = Instant::now();
    until("the node follows", Duration::from_mins(3), async || {
        let age = topology.premises.gateway.handshake_age(&tunnel.keys.public)?;
        Ok(age.filter(|it| *it < moved.elapsed()))
    })
    .await?;
    site.says("leads to 198.51.100.21:51820 now", SOON).await
}

pub(crate) async fn names_are_rewritten(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    for file in ["/etc/resolv.conf", "/etc/resolv.conf", "/etc/dynk8s/resolv.conf"] {
        site.room.write(file, format!("nameserver {VPC_RESOLVER}\n"), 0o644)?;
        until(
            &format!("`{file}` is right again"),
            Duration::from_secs(5),
            async || {
                let text = site.room.read_text(file)?;
                let right = text.contains(&format!("nameserver {PREMISES_GATEWAY}\n"))
                    && !text.contains(&VPC_RESOLVER.to_string());
                Ok(right.then_some(()))
            },
        )
        .await?;
    }
    let said = site.log().matches("`/etc/resolv.conf` still names").count();
    ensure!(said == 1, "said {said} times:\n{}", site.log());
    Ok(())
}

pub(crate) async fn spot_instance_is_taken_back(stage: &mut Stage) -> anyhow::Result<()> {
    let (_instance, site) = taken_back(stage, "guest", "[guard]\ndrain = true\n").await?;
    until("the pod leaves", SOON, async || {
        Ok((!stays(stage, "guest").await?).then_some(()))
    })
    .await
    .with_context(|| site.log())
}

/// Nobody has asked for it, and a pod may have reasons to stay to the end.
pub(crate) async fn spot_instance_is_taken_back_and_not_drained(stage: &mut Stage) -> anyhow::Result<()> {
    let (_instance, site) = taken_back(stage, "sitter", "[guard]\ndrain = false\n").await?;
    sleep(Duration::from_secs(5)).await;
    ensure!(stays(stage, "sitter").await?, "the pod was evicted:\n{}", site.log());
    Ok(())
}

async fn stays(stage: &Stage, pod: &str) -> anyhow::Result<bool> {
    let pod = stage.region.get(&["pod", pod, "--namespace=default"]).await?;
    Ok(pod.is_some_and(|it| it["metadata"]["deletionTimestamp"].is_null()))
}

/// A node with a pod, of which AWS has said that it takes it back: it is cordoned, and the provisioner has heard of it.
async fn taken_back(stage: &mut Stage, pod: &str, configuration: &str) -> anyhow::Result<(Instance, Site)> {
    stage.add_key().await?;
    let instance = spot(stage).await?;
    let mut site = stage.region.site(&instance, configuration)?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    add_pod(stage, &instance, pod).await?;
    let end = Timestamp::now() + SignedDuration::from_mins(2);
    let notice = json!({"action": "terminate", "time": end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
    let answer = (StatusCode::OK, notice.to_string());
    stage.region.aws.imds.faults().replace.insert(NOTICE.to_owned(), answer);
    until("the Node is cordoned", SOON, async || {
        let node = stage.region.get(&["node", &instance.id]).await?;
        Ok(node.filter(|it| it["spec"]["unschedulable"] == true))
    })
    .await
    .with_context(|| site.log())?;
    stage
        .region
        .worker_until("the provisioner hears of it", SOON, &instance, |it| {
            let error = it["status"]["journey"]["error"].as_str();
            error.is_some_and(|it| it.contains("takes this spot instance back: terminate"))
        })
        .await?;
    Ok((instance, site))
}

pub(crate) async fn nothing_happens(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    sleep(Duration::from_secs(10)).await;
    let before = Cost::of(site.process()?)?;
    sleep(Duration::from_mins(1)).await;
    let cost = Cost::of(site.process()?)? - before;
    ensure!(cost.wake_ups <= 10, "{cost:?} in a minute");
    ensure!(cost.own <= 10 * 1024, "{cost:?}");
    Ok(())
}

async fn spot(stage: &mut Stage) -> anyhow::Result<Instance> {
    let mut instance = stage.region.launch();
    instance.lifecycle = Lifecycle::Spot;
    stage.region.aws.cloud.remove(&instance.id);
    stage.region.aws.cloud.add(instance.clone());
    stage.region.aws.announce(&instance, InstanceState::Running).await?;
    Ok(instance)
}

async fn add_pod(stage: &Stage, instance: &Instance, name: &str) -> anyhow::Result<()> {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}});
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": instance.id,
            "automountServiceAccountToken": false,
            "containers": [{"name": "guest", "image": "none"}],
        },
    });
    stage.region.control_plane.apply(&account.to_string()).await?;
    stage.region.control_plane.apply(&pod.to_string()).await?;
    Ok(())
}
