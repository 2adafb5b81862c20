//! What an agent says of its failure is kept where it outlives the instance.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
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
        impaired: None,
        time: world.now,
    };
    world.record(ONE, |it| it.journey = Some(journey));
    settle(world, ONE);
}

fn look_around(world: &mut World, impaired: Option<&[&str]>) {
    let impaired = impaired.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
    let journey = Journey {
        outcome: "ready".to_owned(),
        steps: Vec::new(),
        error: None,
        log: Vec::new(),
        impaired,
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

#[test]
fn what_is_found_around_a_node_is_a_condition_that_turns() {
    let mut world = joined();
    let before = status(&world, ONE).conditions.clone();
    let turn = |world: &World, before: &[Condition]| -> Vec<(String, Weight)> {
        let turns = turns(before, &status(world, ONE).conditions);
        turns.into_iter().map(|it| (it.reason, it.weight)).collect()
    };
    look_around(&mut world, None);
    assert_eq!(turn(&world, &before), [], "nothing was looked at");
    look_around(&mut world, Some(&["cluster DNS is silent", "the MTU is too large"]));
    assert_eq!(turn(&world, &before), [("Impaired".to_owned(), Weight::Warning)]);
    let impaired = status(&world, ONE).conditions.clone();
    let connected = impaired.iter().find(|it| it.type_ == "Connected").unwrap();
    assert_eq!(
        (connected.status.as_str(), connected.message.as_str()),
        ("False", "cluster DNS is silent; the MTU is too large")
    );
    // An agent that has begun anew has not looked yet: what it said before stands.
    look_around(&mut world, None);
    assert_eq!(turn(&world, &impaired), []);
    look_around(&mut world, Some(&[]));
    assert_eq!(turn(&world, &impaired), [("Sound".to_owned(), Weight::Normal)]);
}

#[test]
fn nothing_is_said_to_be_around_what_is_no_node() {
    let mut world = joining(1);
    look_around(&mut world, Some(&["cluster DNS is silent"]));
    assert!(status(&world, ONE).conditions.iter().all(|it| it.type_ != "Connected"));
}

#[test_case(None, "the agent failed: it did not say why".len(); "nothing")]
#[test_case(Some(10_000), "the agent failed in step `join`: ".len() + 700; "a novel")]
fn whatever_it_says_the_message_is_short(words: Option<usize>, length: usize) {
    let mut world = joining(1);
    report(&mut world, "failed", words.map(|it| "x".repeat(it)).as_deref());
    assert_eq!(message(&world).len(), length);
}
