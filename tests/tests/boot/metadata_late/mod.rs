//! The metadata service does not answer for the first 20 s in which it is asked. On this Debian everything of a boot waits for
//! cloud-init's look at it; on Fedora the agent would be the one who waits, which the test `faults` tries.

use std::time::Duration;

use dynk8s_lab::region::{Equipment, until};
use tokio::time::sleep;

use crate::stage::Stage;

const ASKS_WITHIN: Duration = Duration::from_mins(3);
const LATE: Duration = Duration::from_secs(20);

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.region.aws.metadata.close().await;
    let node = stage.start(&stage.configured, newcomer, Equipment::default())?;
    let asked = until("somebody misses the metadata", ASKS_WITHIN, async || {
        node.machine.check()?;
        let console = node.machine.console_tail(20);
        Ok(console.contains("/latest/api/token' failed").then_some(()))
    });
    let asked = asked.await;
    sleep(LATE).await;
    stage.region.aws.metadata.open().await;
    asked?;
    stage.joins(&node).await?;
    node.was_started_once().await
}
