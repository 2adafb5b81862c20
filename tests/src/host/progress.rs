//! What the lab says on standard error while something takes long.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

const EVERY: Duration = Duration::from_secs(15);

#[expect(
    clippy::print_stderr,
    reason = "the one place where the lab talks to the person in front of it"
)]
pub fn say(line: impl Display) {
    eprintln!("{line}");
}

/// Waits for `work` and says every quarter of a minute that it is still going on, and at the end how long it took.
pub async fn narrate<T, E>(what: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let started = Instant::now();
    let mut ticks = interval_at(started + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    tokio::pin!(work);
    let outcome = loop {
        tokio::select! {
            outcome = &mut work => break outcome,
            _ = ticks.tick() => say(format_args!("{what}: {} s so far", started.elapsed().as_secs())),
        }
    };
    let verdict = if outcome.is_ok() { "done" } else { "failed" };
    say(format_args!(
        "{what}: {verdict} after {} s",
        started.elapsed().as_secs()
    ));
    outcome
}
