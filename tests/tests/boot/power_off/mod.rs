//! Nobody answers for as long as the operator has patience, and he wishes to pay for no machine that is no node: it goes off, so that
//! its group launches another one.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use dynk8s_lab::region::Equipment;
use tokio::time::{Instant, sleep};

use crate::stage::Stage;

const MORE: &str = r#"
      on_failure = "poweroff"
      [deadlines]
      claim = "20s"
      join = "20s""#;
const OFF_WITHIN: Duration = Duration::from_mins(4);

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    stage.give_user_data(&newcomer, MORE);
    stage.region.entrance.close().await;
    let node = stage.start(&stage.baked, newcomer, Equipment::default())?;
    let end = Instant::now() + OFF_WITHIN;
    while node.machine.check().is_ok() {
        if Instant::now() > end {
            stage.region.entrance.open().await;
            bail!(
                "the machine is still on; the console ends with:\n{}",
                node.machine.console_tail(30)
            );
        }
        sleep(Duration::from_secs(1)).await;
    }
    stage.region.entrance.open().await;
    let console = node.machine.console_tail(200);
    let line = console.lines().find(|it| it.contains("failed to claim"));
    let line = line.with_context(|| format!("why is not on the console:\n{console}"))?;
    ensure!(line.contains("provisioner"), "{line}");
    Ok(())
}
