//! Two listed accounts, and what each may say of an instance.

use std::collections::BTreeMap;

use test_case::test_case;

use super::{config, event, now, worker};
use crate::announce::decide::{Decision, Ignored, decide};
use crate::config::Config;
use crate::names::ADOPTED_ANNOTATION;
use crate::worker::tests::described;
use crate::worker::{Announced, Attested, State, Wish, Worker};

const OTHER: &str = "999999999999";

/// Both accounts are listed.
fn both() -> Config {
    let mut config = config();
    config.node_groups[0].accounts.push(OTHER.to_owned());
    config
}

fn of_the_other(state: State) -> Announced {
    Announced {
        account: OTHER.to_owned(),
        ..event(state, 1)
    }
}

fn announced() -> Worker {
    worker(Wish::Running, Some(event(State::Running, 9)))
}

fn attested() -> Worker {
    let mut worker = worker(Wish::Running, None);
    worker.status.as_mut().unwrap().attested = Some(Attested {
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        role: None,
        pending_time: None,
        time: now(),
    });
    worker
}

fn known_to_ec2() -> Worker {
    let mut worker = adopted();
    worker.status.as_mut().unwrap().described = Some(described());
    worker
}

fn adopted() -> Worker {
    let mut worker = worker(Wish::Running, None);
    worker.metadata.annotations = Some(BTreeMap::from([(ADOPTED_ANNOTATION.to_owned(), "burst-1".to_owned())]));
    worker
}

#[test_case(&announced(); "announced")]
#[test_case(&attested(); "proven")]
#[test_case(&known_to_ec2(); "described by EC2")]
#[test_case(&adopted(); "adopted, so that nobody knows whose it is")]
fn no_other_account_ends_an_instance(worker: &Worker) {
    for state in [State::Stopping, State::Stopped, State::ShuttingDown, State::Terminated] {
        let decision = decide(Some(worker), &of_the_other(state), &both(), now());
        assert_eq!(decision, Decision::Ignore(Ignored::NotItsAccount), "{state}");
    }
}

#[test_case(&announced(); "announced")]
#[test_case(&attested(); "proven")]
#[test_case(&known_to_ec2(); "described by EC2")]
fn its_own_account_ends_it(worker: &Worker) {
    let decision = decide(Some(worker), &event(State::Terminated, 1), &both(), now());
    assert_eq!(decision, Decision::Bury);
}

#[test]
fn an_adopted_instance_is_heard_of_where_there_is_one_account_only() {
    let ended = event(State::Terminated, 1);
    assert_eq!(decide(Some(&adopted()), &ended, &config(), now()), Decision::Bury);
    assert_eq!(
        decide(Some(&adopted()), &ended, &both(), now()),
        Decision::Ignore(Ignored::NotItsAccount)
    );
}

#[test_case(Wish::Running; "it lives")]
#[test_case(Wish::Gone; "it is a tombstone")]
fn a_start_that_another_account_announced_is_noted_once(wished: Wish) {
    let mut worker = worker(wished, Some(of_the_other(State::Terminated)));
    let start = event(State::Running, 1);
    assert_eq!(decide(Some(&worker), &start, &both(), now()), Decision::Dispute);
    worker.status.as_mut().unwrap().disputed = Some(now());
    let again = decide(Some(&worker), &start, &both(), now());
    assert_eq!(again, Decision::Ignore(Ignored::NotItsAccount));
}

#[test_case(&attested(), &both(); "it has proven itself")]
#[test_case(&known_to_ec2(), &both(); "EC2 knows it")]
#[test_case(&announced(), &config(); "the other account is not listed")]
fn a_start_is_not_noted_where(worker: &Worker, config: &Config) {
    let decision = decide(Some(worker), &of_the_other(State::Running), config, now());
    assert_eq!(decision, Decision::Ignore(Ignored::NotItsAccount));
}
