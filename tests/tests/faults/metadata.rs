//! The instance metadata service fails.

use std::time::Duration;

use tokio::time::sleep;

use crate::stage::{SOON, Stage, names};

pub(crate) async fn is_absent(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.aws.metadata.close().await;
    let mut site = stage.region.site(&instance, "[deadlines]\nfacts = \"3s\"\n")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["facts", "169.254.169.254", "3s", "HttpEndpoint"])?;
    stage.region.aws.metadata.open().await;
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn is_late(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.aws.metadata.close().await;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    sleep(Duration::from_secs(15)).await;
    stage.region.aws.metadata.open().await;
    stage.joins(&instance, &site).await.map(drop)
}
