//! The join itself.

use anyhow::ensure;

use crate::foretold;
use crate::stage::{SOON, Stage};

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
