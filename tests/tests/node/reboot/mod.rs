//! A node reboots while there is no provisioner: it needs none, and the kubelet waits for the names that the agent brings back.
//! What of its image a kubelet would die of is put right again.

mod unfit;

use anyhow::ensure;
use dynk8s_lab::region::Equipment;

use crate::stage::{Node, Stage};

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let files = unfit::image();
    let node = stage
        .joined(Equipment {
            files,
            ..Equipment::default()
        })
        .await?;
    unfit::network_was_set_aside(&node).await?;
    unfit::was_put_right(&node).await?;
    plan_is_told(&node).await?;
    stage.region.provisioner.stop_serve();
    stage.region.provisioner.stop_reconcile();
    stage.reboot(&node).await?;
    kubelet_came_after_the_names(&node).await?;
    unfit::was_put_right(&node).await?;
    stage.region.provisioner.start_serve().await?;
    stage.region.provisioner.start_reconcile().await?;
    stage.look_at(&node).await
}

/// What the next start would do, with the managers of a real system.
async fn plan_is_told(node: &Node) -> anyhow::Result<()> {
    let plan = node.machine.run(&["dynk8s-agent", "plan"]).await?;
    for part in [
        "the unit is active",
        "joined before: nobody is asked",
        "leaves the keys and peers of the interface `dynk8s` as they are",
        "systemd-resolved asks, and systemd-networkd tells it whom",
        "writes `/run/systemd/network/50-vpc.network.d/90-dynk8s.conf`",
    ] {
        ensure!(plan.contains(part), "the plan does not say `{part}`:\n{plan}");
    }
    Ok(())
}

/// The agent's unit is active from its names step on.
async fn kubelet_came_after_the_names(node: &Node) -> anyhow::Result<()> {
    let moment = async |unit, moment: &str| {
        let property = format!("--property={moment}TimestampMonotonic");
        let words = ["systemctl", "show", "--value", &property, unit];
        anyhow::Ok(node.machine.run(&words).await?.trim().parse::<u64>()?)
    };
    let agent = moment("dynk8s-agent.service", "ActiveEnter").await?;
    let kubelet = moment("kubelet.service", "InactiveExit").await?;
    ensure!(
        0 < agent && agent <= kubelet,
        "the kubelet was started at {kubelet} µs, the agent was there at {agent} µs"
    );
    Ok(())
}
