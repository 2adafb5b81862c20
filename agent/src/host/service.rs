//! What systemd is told. Outside of it, all of this does nothing.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context as _, bail};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};

use super::command;

/// The agent's own unit.
pub(crate) const UNIT: &str = "dynk8s-agent.service";

const SHORT: Duration = Duration::from_secs(20);

/// How often systemd hears that this is still starting, and how long it then waits for the next word.
const STARTING: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_mins(2);

/// Whether systemd runs this machine.
pub(crate) fn booted_with_systemd() -> bool {
    sd_notify::booted().unwrap_or(false)
}

/// Starts the agent's own unit, and does not wait for it.
pub(crate) async fn start_unit() -> anyhow::Result<()> {
    systemctl(&["start", "--no-block", UNIT])
        .await
        .with_context(|| format!("failed to start the unit `{UNIT}`"))
}

/// The state of a unit, in systemd's word; a unit that is not there is `inactive`.
pub(crate) async fn state(unit: &str) -> anyhow::Result<String> {
    let ended = command::run("systemctl", &["is-active", unit], SHORT, |_| {}).await?;
    ended
        .lines
        .into_iter()
        .next()
        .with_context(|| format!("failed to ask systemd for the state of the unit `{unit}`"))
}

/// Whether a unit runs, in words.
pub(crate) async fn is_active(unit: &str) -> anyhow::Result<String> {
    let state = state(unit).await?;
    if state != "active" {
        bail!("the unit `{unit}` is {state}; `systemctl status {unit}` tells why");
    }
    Ok(format!("the unit `{unit}` is {state}"))
}

/// Powers the machine off.
pub(crate) async fn power_off() -> anyhow::Result<()> {
    systemctl(&["poweroff", "--no-block"])
        .await
        .context("failed to power off")
}

async fn systemctl(arguments: &[&str]) -> anyhow::Result<()> {
    let ended = command::run("systemctl", arguments, SHORT, |_| {}).await?;
    if !ended.success {
        bail!("systemctl says: {}", ended.lines.join(" "));
    }
    Ok(())
}

/// The line that `systemctl status` shows.
pub(crate) fn status(text: &str) {
    notify(&[NotifyState::Status(text)]);
}

/// Says that this is alive as long as it is polled, and asks for time: starting takes as long as AWS, an operator or a
/// cluster need.
pub(crate) async fn keep_starting() -> Infallible {
    let micros = u32::try_from(PATIENCE.as_micros()).unwrap_or(u32::MAX);
    let mut ticks = tokio::time::interval(STARTING);
    loop {
        ticks.tick().await;
        notify(&[NotifyState::ExtendTimeoutUsec(micros), NotifyState::Watchdog]);
    }
}

/// Feeds the watchdog.
pub(crate) fn alive() {
    notify(&[NotifyState::Watchdog]);
}

/// Lets the units that are ordered after this one start, the kubelet's among them.
pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("failed to notify the service manager: {error}");
    }
}

/// Returns when the process is asked to end.
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    notify(&[NotifyState::Stopping]);
    Ok(())
}
