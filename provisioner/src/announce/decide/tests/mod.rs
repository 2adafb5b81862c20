mod accounts;
mod order;

use jiff::{SignedDuration, Timestamp};
use test_case::test_case;

use super::{Decision, Ignored, decide};
use crate::config::Config;
use crate::sns::outcome::Outcome;
use crate::worker::{Announced, State, Wish, Worker, WorkerSpec, WorkerStatus};

const ID: &str = "i-0123456789abcdef0";

fn config() -> Config {
    toml::from_str(include_str!("../../../../testdata/provisioner.toml")).unwrap()
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
            forced: false,
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
fn a_stop_that_overtakes_the_start_gets_the_worker_that_holds_it(state: State) {
    let fresh = decide(None, &event(state, 3600), &config(), now());
    assert_eq!(fresh, Decision::Create(Wish::Running));
    let old = decide(None, &event(state, 3601), &config(), now());
    assert_eq!(old, Decision::Ignore(Ignored::Old));
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

#[test]
fn what_is_ignored_is_counted_by_its_reason() {
    let known = worker(Wish::Running, Some(event(State::Running, 5)));
    let gone = worker(Wish::Gone, None);
    let other = Announced {
        account: "999999999999".to_owned(),
        ..event(State::Terminated, 1)
    };
    let cases = [
        (None, event(State::Running, -301), Ignored::Future, Outcome::Stale),
        (None, event(State::Running, 3601), Ignored::Old, Outcome::Repeated),
        (None, other.clone(), Ignored::NotEligible, Outcome::NotEligible),
        (Some(&known), other, Ignored::NotItsAccount, Outcome::NotEligible),
        (
            Some(&known),
            event(State::Running, 5),
            Ignored::Repeated,
            Outcome::Repeated,
        ),
        (
            Some(&known),
            event(State::Stopped, 9),
            Ignored::Overtaken,
            Outcome::Repeated,
        ),
        (
            Some(&gone),
            event(State::Running, 1),
            Ignored::Overtaken,
            Outcome::Repeated,
        ),
    ];
    for (worker, event, why, outcome) in cases {
        assert_eq!(
            decide(worker, &event, &config(), now()),
            Decision::Ignore(why),
            "{event:?}"
        );
        assert_eq!(why.outcome(), outcome);
    }
}
