//! The agent is killed behind each of its steps, and in the middle of a join: each time systemd starts it again, and in the end
//! the node is Ready. Then it hangs, and systemd notices.

use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::machine::{File, Machine};
use dynk8s_lab::region::{Equipment, until};
use serde_json::Value;

use crate::stage::{Node, Stage};

const UNITS: &str = "/etc/systemd/system";
/// The kills in their order, and the step that is over and the one that is not, by then.
const KILLS: [(&str, &str, &str); 7] = [
    ("facts", "facts", "claim"),
    ("claim", "claim", "tunnel"),
    ("tunnel", "tunnel", "names"),
    ("names", "names", "join"),
    ("half-a-join", "names", "join"),
    ("join", "join", "ready"),
    // Behind it there is no other.
    ("ready", "ready", ""),
];
/// The last kill, and a start after it.
const AGAIN_WITHIN: Duration = Duration::from_mins(1);
/// What systemd waits for a sign of life, here; then it gives the agent time to leave a core.
const NOTICED_WITHIN: Duration = Duration::from_secs(45 + 20 + 15);

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let node = stage
        .joined(Equipment {
            files: killer(),
            ..Equipment::default()
        })
        .await?;
    ends_ready(&node.machine, KILLS.len(), AGAIN_WITHIN).await?;
    for (kill, over, under_way) in KILLS {
        was_behind(&node.machine, kill, over, under_way).await?;
    }
    stage.look_at(&node).await?;
    hangs(&node).await?;
    stage.look_at(&node).await
}

fn killer() -> Vec<File> {
    let unit = format!("{UNITS}/killer.service");
    vec![
        File::new("/usr/local/sbin/killer", 0o755, include_str!("killer.sh")),
        File::new(&unit, 0o644, include_str!("killer.service")),
        File::link(format!("{UNITS}/multi-user.target.wants/killer.service"), &unit),
        File::new(
            format!("{UNITS}/dynk8s-agent.service.d/lab.conf"),
            0o644,
            include_str!("agent.conf"),
        ),
    ]
}

/// Waits until systemd has started the agent anew so often, and its journey has ended well.
async fn ends_ready(machine: &Machine, restarts: usize, within: Duration) -> anyhow::Result<()> {
    let what = format!("the agent is Ready after {restarts} restarts");
    let outcome = until(&what, within, async || {
        let words = ["systemctl", "show", "--value", "--property=NRestarts", "dynk8s-agent"];
        let count: usize = machine.run(&words).await?.trim().parse()?;
        let status = machine.exec(&["dynk8s-agent", "status", "--json"]).await?.stdout;
        let timeline: Value = serde_json::from_str(&status).unwrap_or_default();
        Ok((count == restarts && timeline["outcome"] == "ready").then_some(()))
    });
    match outcome.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(machine.journal(&["--unit=dynk8s-agent", "--lines=30"]).await?)),
    }
}

/// Whether a kill has hit its place: the timeline says so, which nobody wrote any more.
async fn was_behind(machine: &Machine, kill: &str, over: &str, under_way: &str) -> anyhow::Result<()> {
    let timeline = machine.read(&format!("/run/killed/{kill}.json")).await?;
    let steps = serde_json::from_str::<Value>(&timeline)?["steps"].clone();
    let steps = steps.as_array().context("failed to find the steps in a timeline")?;
    let (before, after): (Vec<&Value>, Vec<&Value>) = steps.iter().partition(|it| it["elapsedMs"].is_u64());
    let last = before.last().map(|it| &it["name"]);
    ensure!(
        last.is_some_and(|it| it == over) && after.iter().all(|it| it["name"] == under_way),
        "the kill `{kill}` has hit another place: {timeline}"
    );
    Ok(())
}

/// A process that hangs is ended by systemd's watchdog, and started again.
async fn hangs(node: &Node) -> anyhow::Result<()> {
    let machine = &node.machine;
    machine
        .run(&["systemctl", "kill", "--kill-whom=main", "--signal=STOP", "dynk8s-agent"])
        .await?;
    ends_ready(machine, KILLS.len() + 1, NOTICED_WITHIN).await?;
    let said = machine.journal(&["--unit=dynk8s-agent"]).await?;
    ensure!(
        said.contains("Watchdog timeout"),
        "it was not the watchdog that ended the agent:\n{said}"
    );
    Ok(())
}
