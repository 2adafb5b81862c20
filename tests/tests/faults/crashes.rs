//! Programs that die.

use std::time::Duration;

use tokio::time::sleep;

use crate::stage::Stage;

pub(crate) async fn of_the_agent(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    for milliseconds in [50, 150, 300, 500, 800, 1200, 1800, 2500, 3500] {
        site.start()?;
        sleep(Duration::from_millis(milliseconds)).await;
        site.kill();
    }
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn of_the_provisioner(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.provisioner.stop_serve();
    stage.region.provisioner.stop_reconcile();
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.has_claimed(&instance, 1).await?;
    stage.region.provisioner.start_serve().await?;
    // Now claims are recorded, and nobody acts on them.
    stage.has_claimed(&instance, 3).await?;
    stage.region.provisioner.start_reconcile().await?;
    stage.joins(&instance, &site).await.map(drop)
}
