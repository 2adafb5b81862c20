//! What an announced state change is worth.
//!
//! SNS doubles, delays and reorders. `terminated` is final, whenever it comes; of the others the newest holds; and
//! nothing raises what is wished gone.

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
    if config.group_of(&event.account, &event.region).is_none() {
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
        None => config.group_of(&event.account, &event.region).is_some(),
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

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use test_case::test_case;

    use super::{Decision, decide};
    use crate::config::Config;
    use crate::worker::{Announced, State, Wish, Worker, WorkerSpec, WorkerStatus};

    const ID: &str = "i-0123456789abcdef0";

    fn config() -> Config {
        toml::from_str(include_str!("../../testdata/provisioner.toml")).unwrap()
    }

    fn now() -> Timestamp {
        "2026-12-01T12:00:00Z".parse().unwrap()
    }

    /// An event so many seconds ago.
    fn event(state: State, ago: i64) -> Announced {
        Announced {
            state,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            time: now() - SignedDuration::from_secs(ago),
        }
    }

    fn worker(wished: Wish, announced: Option<Announced>) -> Worker {
        let mut worker = Worker::new(
            ID,
            WorkerSpec {
                instance_id: ID.to_owned(),
                wished,
            },
        );
        worker.status = Some(WorkerStatus {
            announced,
            ..WorkerStatus::default()
        });
        worker
    }

    fn ignores(decision: Decision) -> bool {
        matches!(decision, Decision::Ignore(_))
    }

    #[test_case(State::Pending, Decision::Create(Wish::Running))]
    #[test_case(State::Running, Decision::Create(Wish::Running))]
    #[test_case(State::Terminated, Decision::Create(Wish::Gone))]
    fn an_eligible_instance_gets_its_worker(state: State, decision: Decision) {
        assert_eq!(decide(None, &event(state, 1), &config(), now()), decision);
    }

    #[test_case(State::Stopping)]
    #[test_case(State::Stopped)]
    #[test_case(State::ShuttingDown)]
    fn a_stop_of_the_unknown_is_nothing(state: State) {
        assert!(ignores(decide(None, &event(state, 1), &config(), now())));
    }

    #[test_case("999999999999", "eu-central-1"; "account")]
    #[test_case("123456789012", "eu-west-1"; "region")]
    fn other_instances_are_ignored(account: &str, region: &str) {
        for state in [State::Running, State::Terminated] {
            let event = Announced {
                account: account.to_owned(),
                region: region.to_owned(),
                ..event(state, 1)
            };
            assert!(ignores(decide(None, &event, &config(), now())));
            let known = worker(Wish::Running, Some(self::event(State::Running, 9)));
            assert!(ignores(decide(Some(&known), &event, &config(), now())));
        }
    }

    #[test]
    fn an_instance_whose_group_is_no_longer_listed_is_still_released() {
        let mut config = config();
        config.node_groups[0].regions = vec!["eu-west-1".to_owned()];
        let known = worker(Wish::Running, Some(event(State::Running, 9)));
        assert_eq!(
            decide(Some(&known), &event(State::Terminated, 1), &config, now()),
            Decision::Bury
        );
    }

    #[test_case(State::Running, 3599, false; "just in time")]
    #[test_case(State::Running, 3601, true; "too old")]
    #[test_case(State::Pending, -301, true; "from the future")]
    #[test_case(State::Terminated, 86400, false; "an end is never too old")]
    fn age_matters(state: State, ago: i64, ignored: bool) {
        assert_eq!(ignores(decide(None, &event(state, ago), &config(), now())), ignored);
    }

    #[test_case(State::Running, 10, State::Stopping, 5, true; "newer")]
    #[test_case(State::Stopping, 5, State::Running, 10, false; "older")]
    #[test_case(State::Running, 5, State::Running, 5, false; "the same again")]
    #[test_case(State::Pending, 5, State::Running, 5, true; "later in the same second")]
    #[test_case(State::Running, 5, State::Pending, 5, false; "earlier in the same second")]
    #[test_case(State::Stopped, 10, State::Pending, 5, true; "started again")]
    fn the_newest_holds(before: State, before_ago: i64, after: State, ago: i64, recorded: bool) {
        let known = worker(Wish::Running, Some(event(before, before_ago)));
        let decision = decide(Some(&known), &event(after, ago), &config(), now());
        assert_eq!(decision == Decision::Record, recorded, "{decision:?}");
    }

    #[test]
    fn an_end_is_final_even_if_it_is_told_late() {
        let known = worker(Wish::Running, Some(event(State::Running, 1)));
        assert_eq!(
            decide(Some(&known), &event(State::Terminated, 60), &config(), now()),
            Decision::Bury
        );
    }

    #[test]
    fn nothing_raises_a_tombstone() {
        for announced in [None, Some(event(State::Terminated, 60))] {
            let tombstone = worker(Wish::Gone, announced);
            for state in [
                State::Pending,
                State::Running,
                State::Stopping,
                State::Stopped,
                State::ShuttingDown,
            ] {
                assert!(ignores(decide(Some(&tombstone), &event(state, 1), &config(), now())));
            }
        }
    }

    #[test]
    fn a_crash_between_the_two_writes_is_mended_by_the_redelivery() {
        let created = worker(Wish::Running, None);
        assert_eq!(
            decide(Some(&created), &event(State::Running, 1), &config(), now()),
            Decision::Record
        );
        let buried = worker(Wish::Gone, None);
        assert_eq!(
            decide(Some(&buried), &event(State::Terminated, 1), &config(), now()),
            Decision::Record
        );
        let told = worker(Wish::Gone, Some(event(State::Terminated, 1)));
        assert!(ignores(decide(
            Some(&told),
            &event(State::Terminated, 1),
            &config(),
            now()
        )));
    }
}
