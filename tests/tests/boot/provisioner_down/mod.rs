//! The provisioner cannot be reached for the first minute after the agent has looked for it.

use std::time::Duration;

use anyhow::ensure;
use dynk8s_lab::region::{Equipment, until};
use tokio::time::sleep;

use crate::stage::Stage;

const CLAIMS_WITHIN: Duration = Duration::from_mins(2);
const DOWN: Duration = Duration::from_mins(1);

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.region.entrance.close().await;
    let node = stage.start(&stage.configured, newcomer, Equipment::default())?;
    let missed = until("the agent misses its provisioner", CLAIMS_WITHIN, async || {
        node.machine.check()?;
        let console = node.machine.console_tail(200);
        Ok(console
            .lines()
            .find(|it| it.contains("no connection to the provisioner"))
            .map(str::to_owned))
    });
    let missed = missed.await;
    sleep(DOWN).await;
    stage.region.entrance.open().await;
    let missed = missed?;
    ensure!(missed.contains("dynk8s-agent"), "on the console: {missed}");
    stage.joins(&node).await?;
    node.was_started_once().await
}
