//! The join itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use axum::body::Bytes;
use dynk8s_lab::region::Provisioner;

use crate::foretold;
use crate::stage::{SOON, Stage, names};

const TOKEN: &str = "abcdef.0123456789abcdef";

pub(crate) async fn nothing_is_wrong(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    let plan = foretold::is_told_without_a_trace(&site)?;
    site.start()?;
    let worker = stage.joins(&instance, &site).await?;
    ensure!(worker["status"]["generation"] == 1, "{worker}");
    site.says("ready", SOON).await?;
    foretold::names_every_file(&plan, &site)?;
    foretold::is_told_of_a_node(&site, &tunnel)?;
    let hosts = site.room.read_text("/etc/hosts")?;
    ensure!(
        hosts.contains(&instance.id),
        "the node cannot resolve its own name: {hosts}"
    );
    let status = site.asks("status")?;
    for step in ["facts", "claim", "tunnel", "names", "join", "ready"] {
        ensure!(status.contains(step), "`status` does not show `{step}`:\n{status}");
    }
    ensure!(
        !site.log().contains(&tunnel.keys.private),
        "the log shows the tunnel's private key"
    );
    Ok(())
}

pub(crate) async fn kubeadm_fails_once(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.fail_next_join()?;
    // Of a join that somebody began: it must not be taken for success.
    site.room.write("/etc/kubernetes/kubelet.conf", "stale", 0o600)?;
    site.start()?;
    let worker = stage.joins(&instance, &site).await?;
    ensure!(
        worker["status"]["generation"] == 2,
        "the second attempt was no new generation: {worker}"
    );
    let log = site.log();
    for line in [
        "resetting what an earlier join left behind",
        "something listens on the kubelet's port",
    ] {
        ensure!(log.contains(line), "the agent does not say `{line}`:\n{log}");
    }
    Ok(())
}

/// kubeadm quotes what it was given, and there is no other try: who looks at the Worker reads its words, and learns no secret.
pub(crate) async fn fails_for_good_and_says_so_without_secrets(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let key = &tunnel.keys.private;
    let site_deadlines = "[deadlines]\nclaim = \"20s\"\njoin = \"8s\"\n";
    let mut site = stage.region.site(&instance, site_deadlines)?;
    site.fail_next_join_with(&format!(
        "[preflight] Running pre-flight checks\nerror: the token {TOKEN} of {key} is of no use"
    ))?;
    // What is handed out for another try gets lost.
    let handed = AtomicBool::new(false);
    let lose_the_second = move |path: &str, answer: Bytes| {
        let is_one = path.ends_with("/claim") && answer.starts_with(b"{\"sender\"");
        if is_one && handed.swap(true, Ordering::Relaxed) {
            Bytes::new()
        } else {
            answer
        }
    };
    stage.region.ingress.faults().rewrite_answer = Some(Arc::new(lose_the_second));
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["join", "no fresh material came"])?;
    let worker = stage
        .region
        .worker_until("the Worker tells why", SOON, &instance, |it| {
            let conditions = it["status"]["conditions"].as_array().into_iter().flatten();
            it["status"]["journey"]["outcome"] == "failed"
                && conditions.into_iter().any(|it| it["reason"] == "JoinFailed")
        })
        .await?;
    let tail = worker["status"]["journey"]["log"].to_string();
    for words in [
        "Running pre-flight checks",
        "the token abcdef.[secret] of [secret] is of no use",
    ] {
        ensure!(tail.contains(words), "`{words}` is not in the log's tail: {tail}");
    }
    for text in [
        worker.to_string(),
        Provisioner::log("serve"),
        Provisioner::log("reconcile"),
        site.room.read_text("/run/dynk8s/timeline.json")?,
    ] {
        ensure!(!text.contains(TOKEN) && !text.contains(key), "a secret is in:\n{text}");
    }
    Ok(())
}

pub(crate) async fn kubelet_is_newer_than_the_cluster(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.set_version("v1.99.0")?;
    site.start()?;
    let server = stage.region.control_plane.version();
    site.says(&format!("kubelet v1.99.0 does not go with API server {server}"), SOON)
        .await?;
    ensure!(
        stage.tokens_of(&instance).await?.is_empty(),
        "it got a token all the same"
    );
    Ok(())
}
