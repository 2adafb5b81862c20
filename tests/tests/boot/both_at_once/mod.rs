//! The image knows its provisioner, so the unit starts at boot, and the user data start it too: there is one journey.

use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.give_user_data(&newcomer, "");
    let node = stage.start(&stage.configured, newcomer, Equipment::default())?;
    stage.joins(&node).await?;
    node.cloud_init_is_content().await?;
    node.was_started_once().await
}
