//! What an announced state change is worth.
//!
//! SNS doubles, delays and reorders. `terminated` is final, whenever it comes; of the others the newest holds; and
//! nothing raises what is wished gone.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::config::Config;
use crate::worker::{Announced, State, Wish, Worker};

/// A start that is older than this has been overtaken by what happened since.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(1);

/// How far the clock of AWS may be ahead of ours.
const MAX_AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// What to do next. After [`Decision::Create`] and [`Decision::Bury`] the question is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, because of this.
    Ignore(&'static str),
    /// Make the Worker.
    Create(Wish),
    /// Wish the Worker gone.
    Bury,
    /// Write down what was announced.
    Record,
}

/// Decides about one event. `worker` is what is there now.
pub fn decide(worker: Option<&Worker>, event: &Announced, config: &Config, now: Timestamp) -> Decision {
    if event.time.duration_since(now) > MAX_AHEAD {
        return Decision::Ignore("its time lies in the future");
    }
    let starts = matches!(event.state, State::Pending | State::Running);
    if starts && now.duration_since(event.time) > MAX_AGE {
        return Decision::Ignore("it is older than an hour");
    }
    match worker {
        None => decide_unknown(event, config),
        Some(worker) => decide_known(worker, event, config),
    }
}

fn decide_unknown(event: &Announced, config: &Config) -> Decision {
    if !config.lists(&event.account, &event.region) {
        return Decision::Ignore("no node group wants instances of its account and region");
    }
    match event.state {
        State::Pending | State::Running => Decision::Create(Wish::Running),
        State::Terminated => Decision::Create(Wish::Gone),
        State::Stopping | State::Stopped | State::ShuttingDown => Decision::Ignore("the instance is not known"),
    }
}

fn decide_known(worker: &Worker, event: &Announced, config: &Config) -> Decision {
    if !is_of_its_account(worker, event, config) {
        return Decision::Ignore("the instance is known to be of another account or region");
    }
    let gone = worker.spec.wished == Wish::Gone;
    let before = worker.status.as_ref().and_then(|it| it.announced.as_ref());
    if event.state == State::Terminated {
        return match before {
            _ if !gone => Decision::Bury,
            Some(before) if before.state == State::Terminated => Decision::Ignore("it was announced before"),
            _ => Decision::Record,
        };
    }
    match before {
        _ if gone => Decision::Ignore("the instance is gone"),
        Some(before) if order(before) >= order(event) => Decision::Ignore("something newer was announced before"),
        _ => Decision::Record,
    }
}

/// What is known of an instance must agree with the event; if nothing is, a node group must want it.
fn is_of_its_account(worker: &Worker, event: &Announced, config: &Config) -> bool {
    let status = worker.status.as_ref();
    let announced = status
        .and_then(|it| it.announced.as_ref())
        .map(|it| (&it.account, &it.region));
    let attested = status
        .and_then(|it| it.attested.as_ref())
        .map(|it| (&it.account, &it.region));
    match attested.or(announced) {
        Some(known) => known == (&event.account, &event.region),
        None => config.lists(&event.account, &event.region),
    }
}

/// EventBridge's times are whole seconds, so that within one the order of an instance's life decides.
fn order(event: &Announced) -> (Timestamp, u8) {
    let rank = match event.state {
        State::Pending => 0,
        State::Running => 1,
        State::Stopping => 2,
        State::Stopped => 3,
        State::ShuttingDown => 4,
        State::Terminated => 5,
    };
    (event.time, rank)
}
