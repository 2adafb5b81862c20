//! The machine's clock is an hour slow, and whoever sets it comes late: until then the agent says what is wrong, then the machine
//! becomes a node.

use std::time::Duration;

use anyhow::Context;
use dynk8s_lab::region::{Equipment, until};
use jiff::{SignedDuration, Timestamp};

use crate::stage::Stage;

const SLOW: SignedDuration = SignedDuration::from_hours(1);
const SAYS_SO_WITHIN: Duration = Duration::from_mins(3);

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    let equipment = Equipment {
        clock: Some(Timestamp::now() - SLOW),
        ..Equipment::default()
    };
    let node = stage.start(&stage.configured, newcomer, equipment)?;
    let said = until("the console tells of the clock", SAYS_SO_WITHIN, async || {
        node.machine.check()?;
        let console = node.machine.console_tail(200);
        Ok((console.contains("behind the provisioner's") && console.contains("169.254.169.123")).then_some(()))
    });
    said.await
        .with_context(|| format!("the console ends with:\n{}", node.machine.console_tail(30)))?;
    let now = Timestamp::now().to_string();
    node.machine.run(&["date", "--utc", "--set", &now]).await?;
    stage.joins(&node).await
}
