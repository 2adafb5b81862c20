//! What an announced state change is worth.
//!
//! SNS doubles, delays and reorders. `terminated` is final, whenever it comes; of the others the newest holds; and
//! nothing raises what is wished gone.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::config::Config;
use crate::sns::MAX_AHEAD;
use crate::sns::outcome::Outcome;
use crate::worker::{Announced, State, Wish, Worker};

/// A start that is older than this has been overtaken by what happened since.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(1);

/// What to do next. After [`Decision::Create`] and [`Decision::Bury`] the question is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, because of this.
    Ignore(Ignored),
    /// Make the Worker.
    Create(Wish),
    /// Wish the Worker gone.
    Bury,
    /// Write down what was announced.
    Record,
}

/// Why nothing comes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Its time lies in the future.
    Future,
    /// It is older than an hour, and would raise an instance.
    Old,
    /// No node group wants instances of its account and region.
    NotEligible,
    /// The instance is known to be of another account or region.
    NotItsAccount,
    /// It was announced before.
    Repeated,
    /// Something newer was announced before, or the instance is gone.
    Overtaken,
}

impl Ignored {
    /// How the message is counted that brought the event.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Future => Outcome::Stale,
            Self::NotEligible | Self::NotItsAccount => Outcome::NotEligible,
            Self::Old | Self::Repeated | Self::Overtaken => Outcome::Repeated,
        }
    }
}

/// Decides about one event. `worker` is what is there now.
pub fn decide(worker: Option<&Worker>, event: &Announced, config: &Config, now: Timestamp) -> Decision {
    if event.time.duration_since(now) > MAX_AHEAD {
        return Decision::Ignore(Ignored::Future);
    }
    let old = now.duration_since(event.time) > MAX_AGE;
    match worker {
        _ if old && matches!(event.state, State::Pending | State::Running) => Decision::Ignore(Ignored::Old),
        None => decide_unknown(event, config, old),
        Some(worker) => decide_known(worker, event, config),
    }
}

fn decide_unknown(event: &Announced, config: &Config, old: bool) -> Decision {
    if !config.lists(&event.account, &event.region) {
        return Decision::Ignore(Ignored::NotEligible);
    }
    match event.state {
        State::Terminated => Decision::Create(Wish::Gone),
        // A stop that overtook the start: without a Worker to hold it, the start would be believed when it comes.
        _ if !old => Decision::Create(Wish::Running),
        _ => Decision::Ignore(Ignored::Old),
    }
}

fn decide_known(worker: &Worker, event: &Announced, config: &Config) -> Decision {
    if !is_of_its_account(worker, event, config) {
        return Decision::Ignore(Ignored::NotItsAccount);
    }
    let gone = worker.spec.wished == Wish::Gone;
    let before = worker.status.as_ref().and_then(|it| it.announced.as_ref());
    if event.state == State::Terminated {
        return match before {
            _ if !gone => Decision::Bury,
            Some(before) if before.state == State::Terminated => Decision::Ignore(Ignored::Repeated),
            _ => Decision::Record,
        };
    }
    match before {
        Some(before) if before == event => Decision::Ignore(Ignored::Repeated),
        Some(before) if order(before) >= order(event) => Decision::Ignore(Ignored::Overtaken),
        _ if gone => Decision::Ignore(Ignored::Overtaken),
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
