//! The image swaps into compressed memory, as Fedora does by default: the agent turns it off before the kubelet would die of it.

use anyhow::ensure;
use dynk8s_lab::machine::File;
use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

const UNIT: &str = "/etc/systemd/system/zram.service";

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    let equipment = Equipment {
        files: vec![
            File::new(UNIT, 0o644, include_str!("zram.service")),
            File::link("/etc/systemd/system/multi-user.target.wants/zram.service", UNIT),
        ],
        ..Equipment::default()
    };
    let node = stage.start(&stage.configured, newcomer, equipment)?;
    stage.joins(&node).await?;
    let swap = node.machine.read("/proc/swaps").await?;
    ensure!(swap.lines().count() == 1, "swap is on: {swap}");
    let said = node.machine.journal(&["--unit=dynk8s-agent"]).await?;
    ensure!(
        said.contains("swap is on (`/dev/zram0`)"),
        "the agent does not tell of it:\n{said}"
    );
    node.was_started_once().await
}
