//! The join itself.

use anyhow::ensure;

use crate::stage::Stage;

pub(crate) async fn nothing_is_wrong(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    let worker = stage.joins(&instance, &site).await?;
    ensure!(worker["status"]["generation"] == 1, "{worker}");
    site.says("ready", crate::stage::SOON).await?;
    let status = site.status()?;
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
    site.start()?;
    let worker = stage.joins(&instance, &site).await?;
    ensure!(
        worker["status"]["generation"] == 2,
        "the second attempt was no new generation: {worker}"
    );
    Ok(())
}
