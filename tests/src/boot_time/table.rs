//! The table of a start, in Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

/// What the agent does itself, where it waits for nobody's kubelet.
const OWN: [&str; 4] = ["facts", "claim", "tunnel", "names"];

/// Since the start of the kernel, but for the first.
#[derive(Debug, Clone)]
pub(super) struct Moments {
    /// From power on to the start of the kernel.
    pub(super) firmware: Duration,
    pub(super) systemd: Duration,
    pub(super) unit: Duration,
    pub(super) journey: Duration,
    pub(super) kubelet: Duration,
    /// Its end, which nothing waits for.
    pub(super) cloud_init: Duration,
    pub(super) steps: Vec<Step>,
}

/// A step of the agent's journey, since its start.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) started_ms: u64,
    pub(super) elapsed_ms: Option<u64>,
}

pub(super) fn table(moments: &Moments) -> String {
    let mut rows = vec![
        ("power on until the kernel starts".to_owned(), moments.firmware),
        ("the kernel, and the first file system".to_owned(), moments.systemd),
        (
            "systemd, until it starts the agent's unit".to_owned(),
            moments.unit.saturating_sub(moments.systemd),
        ),
        (
            "the agent, until its journey begins".to_owned(),
            moments.journey.saturating_sub(moments.unit),
        ),
    ];
    for step in &moments.steps {
        let elapsed = Duration::from_millis(step.elapsed_ms.unwrap_or_default());
        if step.name == "join" {
            let begin = moments.journey + Duration::from_millis(step.started_ms);
            let kubeadm = moments.kubelet.saturating_sub(begin).min(elapsed);
            rows.push(("join: kubeadm, until it starts the kubelet".to_owned(), kubeadm));
            rows.push((
                "join: the kubelet, until kubeadm is content".to_owned(),
                elapsed.saturating_sub(kubeadm),
            ));
        } else {
            rows.push((step.name.clone(), elapsed));
        }
    }
    let total = rows.iter().map(|(_, time)| *time).sum();
    let own = rows.iter().filter(|(name, _)| OWN.contains(&name.as_str()));
    let own = own.map(|(_, time)| *time).sum();
    rows.push(("**all of it, until the Node is Ready**".to_owned(), total));
    rows.push(("of that the agent's own: facts, claim, tunnel, names".to_owned(), own));
    rows.push((
        "beside it, cloud-init's end, from power on".to_owned(),
        moments.firmware + moments.cloud_init,
    ));
    let mut text = String::from("| what | seconds |\n| --- | ---: |\n");
    for (what, time) in rows {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {what} | {:.2} |", time.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_add_up() {
        let step = |name: &str, started_ms, elapsed_ms| Step {
            name: name.to_owned(),
            started_ms,
            elapsed_ms: Some(elapsed_ms),
        };
        let moments = Moments {
            firmware: Duration::from_secs(1),
            systemd: Duration::from_secs(2),
            unit: Duration::from_secs(5),
            journey: Duration::from_millis(5_500),
            kubelet: Duration::from_secs(10),
            cloud_init: Duration::from_secs(20),
            steps: vec![
                step("facts", 0, 500),
                step("claim", 500, 1_000),
                step("join", 1_500, 8_000),
                step("ready", 9_500, 2_500),
            ],
        };
        let table = table(&moments);
        for row in [
            "| systemd, until it starts the agent's unit | 3.00 |",
            "| join: kubeadm, until it starts the kubelet | 3.00 |",
            "| join: the kubelet, until kubeadm is content | 5.00 |",
            "| **all of it, until the Node is Ready** | 18.50 |",
            "| of that the agent's own: facts, claim, tunnel, names | 1.50 |",
            "| beside it, cloud-init's end, from power on | 21.00 |",
        ] {
            assert!(table.contains(row), "no `{row}` in\n{table}");
        }
    }
}
