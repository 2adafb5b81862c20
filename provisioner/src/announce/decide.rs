//! What an announced state change is worth.
//!
//! SNS doubles, delays and reorders. `terminated` is final, whenever it comes; of the others the newest holds; and
//! nothing raises what is wished gone. An instance has one account, and no other speaks for it; which one that is, a proof
//! says, or EC2, or else whoever announced it first.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::config::Config;
use crate::names::ADOPTED_ANNOTATION;
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
    /// Write down that another account, too, says that the instance is its own.
    Dispute,
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
    /// The instance is known to be of another account or region, or nobody knows of which.
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
    match place(worker) {
        Some(known) if known != (&event.account, &event.region) => return decide_foreign(worker, event, config),
        None if !may_be_of_its_account(worker, event, config) => return Decision::Ignore(Ignored::NotItsAccount),
        _ => {}
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

/// The word of another account than the one that announced the instance first. Which of them lies, only a proof can tell.
fn decide_foreign(worker: &Worker, event: &Announced, config: &Config) -> Decision {
    let status = worker.status.as_ref();
    let is_told = status.is_some_and(|it| it.disputed.is_some() || it.attested.is_some() || it.described.is_some());
    let starts = matches!(event.state, State::Pending | State::Running);
    if starts && !is_told && config.lists(&event.account, &event.region) {
        Decision::Dispute
    } else {
        Decision::Ignore(Ignored::NotItsAccount)
    }
}

/// The account and the region that the instance is known to be of.
fn place(worker: &Worker) -> Option<(&String, &String)> {
    let status = worker.status.as_ref()?;
    let attested = status.attested.as_ref().map(|it| (&it.account, &it.region));
    let described = status.described.as_ref().map(|it| (&it.account, &it.region));
    let announced = status.announced.as_ref().map(|it| (&it.account, &it.region));
    attested.or(described).or(announced)
}

/// Of a Worker that was made because a key bears its instance's name nobody knows whose it was; what it has may be in use.
fn may_be_of_its_account(worker: &Worker, event: &Announced, config: &Config) -> bool {
    let annotations = worker.metadata.annotations.as_ref();
    let adopted = annotations.is_some_and(|it| it.contains_key(ADOPTED_ANNOTATION));
    config.lists(&event.account, &event.region) && (!adopted || config.has_one_account())
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
