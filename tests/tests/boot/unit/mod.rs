//! The image knows its provisioner, and there are no user data: the unit makes the machine a node by itself.

use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    let node = stage.start(&stage.configured, newcomer, Equipment::default())?;
    stage.joins(&node).await?;
    node.cloud_init_is_content().await?;
    node.was_started_once().await
}
