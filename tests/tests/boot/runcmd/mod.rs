//! The image knows no provisioner. The user data bring the configuration, start the agent, wait for its journey, and end as it ends.

use anyhow::ensure;
use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

const OUTPUT: &str = "/var/log/cloud-init-output.log";

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.give_user_data(&newcomer, "");
    let node = stage.start(&stage.baked, newcomer, Equipment::default())?;
    stage.joins(&node).await?;
    node.cloud_init_is_content().await?;
    node.was_started_once().await?;
    // What `bootstrap` has shown is where whoever looks after user data looks.
    let output = node.machine.read(OUTPUT).await?;
    ensure!(output.contains("✓ ready"), "no story in:\n{output}");
    Ok(())
}
