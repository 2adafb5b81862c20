//! A node that user data made reboots: neither cloud-init nor the unit makes it anew, and it is Ready again.

use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.give_user_data(&newcomer, "");
    let node = stage.start(&stage.baked, newcomer, Equipment::default())?;
    stage.joins(&node).await?;
    node.cloud_init_is_content().await?;
    node.newcomer.reboots(&stage.region, &node.machine).await?;
    node.cloud_init_is_content().await?;
    node.was_started_once().await
}
