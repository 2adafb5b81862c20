//! What `reconcile` has told: Events that `kubectl describe` shows, and lines that name their instance.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use dynk8s_lab::cluster::NAMESPACE;
use serde_json::Value;

use crate::instance::{INSTANCE, WITHIN};
use crate::stage::Stage;

const ON_WORKER: [&str; 8] = [
    "Announced",
    "Claimed",
    "KeyAssigned",
    "TokenIssued",
    "CertificateApproved",
    "Joined",
    "Admitted",
    "Released",
];

/// Each turn of a Worker's life, on the Worker and on its Node, also after both are gone.
pub(crate) fn turns_were_told(stage: &Stage) -> anyhow::Result<()> {
    for (namespace, kind, expected) in [
        (NAMESPACE, "Worker", ON_WORKER.as_slice()),
        ("default", "Node", &["Joined", "Admitted"]),
    ] {
        let selector = format!("--field-selector=involvedObject.kind={kind},involvedObject.name={INSTANCE}");
        soon(|| {
            let events = stage.json(&["get", "events", "-n", namespace, &selector])?;
            let told = |reason: &str| {
                events["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|it| it["reason"] == reason)
            };
            let missing = expected.iter().find(|it| !told(it));
            ensure!(missing.is_none(), "no Event {missing:?} on the {kind}: {events}");
            Ok(())
        })?;
    }
    Ok(())
}

/// Every line about the instance, of which there are some, has it where a search finds it.
pub(crate) fn lines_name_their_instance(said: &str) -> anyhow::Result<()> {
    let mut lines = said.lines().filter(|it| it.contains(INSTANCE)).peekable();
    ensure!(lines.peek().is_some(), "nothing was said of {INSTANCE}");
    lines.try_for_each(|line| {
        let fields: Value = serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON"))?;
        ensure!(fields["instance"] == INSTANCE, "{line}");
        Ok(())
    })
}

/// Asks until it is so.
pub(crate) fn soon(is_so: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    within(WITHIN, is_so)
}

/// Asks for so long until it is so.
pub(crate) fn within<T>(patience: Duration, mut is_so: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let end = Instant::now() + patience;
    loop {
        match is_so() {
            Err(_) if Instant::now() < end => sleep(Duration::from_millis(200)),
            done => return done,
        }
    }
}
