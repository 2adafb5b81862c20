//! What an agent says of its failure is kept where it outlives the instance.

use test_case::test_case;

use super::fixture::{ONE, joined, joining, reason, settle, status};
use super::scene::address;
use super::world::World;
use crate::reconcile::decide::{Weight, turns};
use crate::worker::{Journey, State, Step};

fn report(world: &mut World, outcome: &str, error: Option<&str>) {
    let step = |name: &str, error: Option<&str>| Step {
        name: name.to_owned(),
        started_ms: 0,
        elapsed_ms: None,
        attempts: 1,
        error: error.map(str::to_owned),
    };
    let journey = Journey {
        outcome: outcome.to_owned(),
        steps: vec![step("claim", None), step("join", error)],
        error: error.map(str::to_owned),
        log: Vec::new(),
        time: world.now,
    };
    world.record(ONE, |it| it.journey = Some(journey));
    settle(world, ONE);
}

fn message(world: &World) -> &str {
    let joined = status(world, ONE).conditions.iter().find(|it| it.type_ == "Joined");
    &joined.unwrap().message
}

#[test]
fn a_failed_join_says_why_also_after_the_instance_is_gone() {
    let mut world = joining(1);
    let before = status(&world, ONE).conditions.clone();
    report(&mut world, "failed", Some("kubeadm: no route to the API server"));
    let why = "the agent failed in step `join`: kubeadm: no route to the API server";
    assert_eq!((reason(&world, ONE, "Joined"), message(&world)), ("JoinFailed", why));
    let turns = turns(&before, &status(&world, ONE).conditions);
    assert_eq!((turns.len(), turns[0].weight), (1, Weight::Warning));
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert_eq!(message(&world), why);
}

#[test]
fn an_agent_that_tries_again_is_given_the_chance() {
    let mut world = joining(1);
    report(&mut world, "failed", Some("why"));
    report(&mut world, "running", None);
    assert_eq!(reason(&world, ONE, "Joined"), "NotJoined");
}

#[test]
fn a_node_that_is_there_says_more_than_its_agent() {
    let mut world = joining(1);
    world.node(ONE, &address(1), false);
    report(&mut world, "failed", Some("why"));
    assert_eq!(reason(&world, ONE, "Joined"), "NotReady");
    let mut world = joined();
    report(&mut world, "failed", Some("why"));
    assert_eq!(reason(&world, ONE, "Joined"), "Ready");
}

#[test_case(None, "the agent failed: it did not say why".len(); "nothing")]
#[test_case(Some(10_000), "the agent failed in step `join`: ".len() + 700; "a novel")]
fn whatever_it_says_the_message_is_short(words: Option<usize>, length: usize) {
    let mut world = joining(1);
    report(&mut world, "failed", words.map(|it| "x".repeat(it)).as_deref());
    assert_eq!(message(&world).len(), length);
}
