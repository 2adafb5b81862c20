//! What SNS does not bring is asked of EC2, by those who have credentials.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use dynk8s_lab::aws::cloud::Instance;
use dynk8s_lab::aws::ec2::Faults;
use dynk8s_lab::cluster::NAMESPACE;
use dynk8s_lab::region::{Provisioner, until};
use serde_json::Value;

use crate::stage::{SOON, Stage};

/// Only EC2 can tell who is of this group, and only EC2 Auto Scaling what its nodes become.
const CONFIGURATION: &str = r#"announcement_seconds = 5

[aws]
resync_seconds = 60

[[node_group]]
name = "spare"
accounts = ["123456789012"]
regions = ["eu-central-1"]
auto_scaling_groups = ["spare"]
from_tags = ["example.org/"]
"#;

/// EC2 is asked again ten seconds after it did not answer, and asked for patience it is left alone for seconds.
const FOUND_WITHIN: Duration = Duration::from_mins(1);

pub(crate) async fn messages_are_lost(stage: &mut Stage) -> anyhow::Result<()> {
    let (ended, _) = stage.newcomer().await?;
    let has_key = |it: &Value| it["status"]["key"].is_string();
    let worker = stage.region.worker_until("it has a key", SOON, &ended, has_key).await?;
    let key = worker["status"]["key"].as_str().context("no key")?.to_owned();
    let unheard = stage.region.launch();
    // Neither the end of the one nor the beginning of the other is announced.
    stage.region.aws.ec2.set_state(&ended.id, "terminated");
    is_of_the_group(stage, &unheard);

    stage.region.provisioner.configure(CONFIGURATION).await?;
    let mut site = stage.region.site(&unheard, "")?;
    site.start()?;
    until("it misses its credentials", SOON, async || {
        Ok(Provisioner::log("reconcile")
            .contains("failed to find AWS credentials")
            .then_some(()))
    })
    .await?;
    site.says("not-yet", SOON).await?;
    let worker = stage.region.worker(&unheard).await?.context("no Worker")?;
    ensure!(
        worker["status"]["key"].is_null(),
        "it has a key, and nobody knows what it is: {worker}"
    );
    let worker = stage.region.worker(&ended).await?.context("no Worker")?;
    ensure!(worker["spec"]["wished"] == "running", "{worker}");
    ensure!(owner(stage, &key).await? == ended.id, "the key was taken from it");

    *stage.region.aws.ec2.faults() = Faults {
        throttle: 2,
        empty_pages: 1,
        ..Faults::default()
    };
    let credentials = stage.region.aws.cloud.credentials_of("provisioner");
    stage.region.provisioner.give_credentials(&credentials)?;
    let is_gone = |it: &Value| it["status"]["phase"] == "Gone";
    stage
        .region
        .worker_until("its end is found", FOUND_WITHIN, &ended, is_gone)
        .await?;
    ensure!(owner(stage, &key).await? != ended.id, "the key is still its own");
    stage.joins(&unheard, &site).await?;
    is_what_the_tags_say(stage, &unheard).await?;
    was_asked_patiently(stage)
}

fn is_of_the_group(stage: &Stage, instance: &Instance) {
    let ec2 = &stage.region.aws.ec2;
    ec2.tag(&instance.id, "aws:autoscaling:groupName", "spare");
    for (key, value) in [
        ("label/example.org/purpose", "spare"),
        ("taint/example.org/spare", "yes:NoSchedule"),
    ] {
        ec2.tag_group(
            "spare",
            &format!("k8s.io/cluster-autoscaler/node-template/{key}"),
            value,
        );
    }
}

async fn is_what_the_tags_say(stage: &Stage, instance: &Instance) -> anyhow::Result<()> {
    let node = stage.region.get(&["node", &instance.id]).await?.context("no Node")?;
    ensure!(node["metadata"]["labels"]["example.org/purpose"] == "spare", "{node}");
    ensure!(
        node["metadata"]["labels"]["example.org/pool"].is_null(),
        "it is of the other group: {node}"
    );
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let has_taint = taints
        .into_iter()
        .any(|it| it["key"] == "example.org/spare" && it["value"] == "yes");
    ensure!(has_taint, "{node}");
    Ok(())
}

/// It waited when it was told to, and went on to the last page.
fn was_asked_patiently(stage: &Stage) -> anyhow::Result<()> {
    let calls = stage.region.aws.ec2.journal().entries();
    let throttled = calls
        .iter()
        .filter(|it| it.refused == Some("RequestLimitExceeded"))
        .count();
    let refused = calls
        .iter()
        .find(|it| it.refused.is_some_and(|it| it != "RequestLimitExceeded"));
    ensure!(
        throttled == 2 && refused.is_none(),
        "{throttled} times throttled, and {refused:?}"
    );
    ensure!(calls.iter().any(|it| it.body.contains("NextToken=next")), "{calls:?}");
    Ok(())
}

async fn owner(stage: &Stage, key: &str) -> anyhow::Result<String> {
    let secret = stage.region.get(&["secret", key, "--namespace", NAMESPACE]).await?;
    let secret = secret.context("the key is not there")?;
    Ok(secret["metadata"]["labels"]["dynk8s.du5t1n.me/ec2-instance-id"]
        .as_str()
        .context("no label")?
        .to_owned())
}
