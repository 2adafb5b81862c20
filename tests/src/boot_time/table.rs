//! The table of a start, in Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

/// What the agent does itself, where it waits for nobody's kubelet.
const OWN: [&str; 4] = ["facts", "claim", "tunnel", "names"];

/// Since the start of the kernel, where nothing else is said.
#[derive(Debug, Clone)]
pub(super) struct Moments {
    /// From power on to the start of the kernel.
    pub(super) firmware: Duration,
    pub(super) systemd: Duration,
    /// How long cloud-init's stages take that come before the agent's unit.
    pub(super) first_stages: Duration,
    pub(super) unit: Duration,
    pub(super) journey: Duration,
    /// Its end, which nothing waits for.
    pub(super) cloud_init: Duration,
    pub(super) steps: Vec<Step>,
}

/// A step of the agent's journey.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) name: String,
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
        let what = match step.name.as_str() {
            "join" => "join: kubeadm, until the kubelet has its certificate".to_owned(),
            "ready" => "ready: the kubelet, until its Node is Ready".to_owned(),
            own => own.to_owned(),
        };
        rows.push((what, elapsed));
    }
    let total = rows.iter().map(|(_, time)| *time).sum();
    let own = rows.iter().filter(|(name, _)| OWN.contains(&name.as_str()));
    let own = own.map(|(_, time)| *time).sum();
    rows.push(("**all of it, until the Node is Ready**".to_owned(), total));
    rows.push(("of that the agent's own: facts, claim, tunnel, names".to_owned(), own));
    rows.push((
        "of that cloud-init's first stages, local and network".to_owned(),
        moments.first_stages,
    ));
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
        let step = |name: &str, elapsed_ms| Step {
            name: name.to_owned(),
            elapsed_ms: Some(elapsed_ms),
        };
        let moments = Moments {
            firmware: Duration::from_secs(1),
            systemd: Duration::from_secs(2),
            first_stages: Duration::from_secs(1),
            unit: Duration::from_secs(5),
            journey: Duration::from_millis(5_500),
            cloud_init: Duration::from_secs(20),
            steps: vec![
                step("facts", 500),
                step("claim", 1_000),
                step("join", 8_000),
                step("ready", 2_500),
            ],
        };
        let table = table(&moments);
        for row in [
            "| systemd, until it starts the agent's unit | 3.00 |",
            "| join: kubeadm, until the kubelet has its certificate | 8.00 |",
            "| ready: the kubelet, until its Node is Ready | 2.50 |",
            "| **all of it, until the Node is Ready** | 18.50 |",
            "| of that the agent's own: facts, claim, tunnel, names | 1.50 |",
            "| of that cloud-init's first stages, local and network | 1.00 |",
            "| beside it, cloud-init's end, from power on | 21.00 |",
        ] {
            assert!(table.contains(row), "no `{row}` in\n{table}");
        }
    }
}
