//! What a gone instance leaves.

use std::time::Duration;

use super::fixture::{ONE, end, is_labelled, joined, plan, reason, settle, status, world};
use super::scene::address;
use crate::reconcile::decide::Action;
use crate::worker::tests::described;
use crate::worker::{Phase, State};

#[test]
fn a_gone_instance_gives_everything_back_and_leaves_a_tombstone() {
    let mut world = joined();
    end(&mut world, ONE);
    assert!(world.nodes.is_empty() && is_labelled(&world, 1, ONE), "the key rests");
    assert_eq!(status(&world, ONE).phase, Some(Phase::Releasing));
    assert_eq!(plan(&world, ONE).again, Duration::from_secs(30));
    world.now += Duration::from_mins(4);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ""));
    assert_eq!(status(&world, ONE).phase, Some(Phase::Gone));
    world.now += Duration::from_hours(24);
    assert_eq!(plan(&world, ONE).actions, [Action::DeleteWorker]);
}

#[test]
fn the_key_of_a_gone_instance_is_kept_while_a_node_shows_its_address() {
    let mut world = joined();
    world.node("on-premises", &address(1), true);
    end(&mut world, ONE);
    world.now += Duration::from_secs(1000);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(reason(&world, ONE, "Released"), "AddressInUse");
}

#[test]
fn a_tombstone_that_another_account_contradicts_is_removed_at_once() {
    let mut world = world(1);
    world.announce(ONE, State::Running);
    settle(&mut world, ONE);
    world.announce(ONE, State::Terminated);
    let now = world.now;
    world.record(ONE, |it| it.disputed = Some(now));
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE), "what it had rests first");
    world.now += Duration::from_mins(4);
    let mut seen = world.workers[ONE].metadata.resource_version.clone();
    for action in plan(&world, ONE).actions {
        world.apply(ONE, action, &mut seen).unwrap();
    }
    assert!(is_labelled(&world, 1, ""));
    assert_eq!(plan(&world, ONE).actions, [Action::DeleteWorker]);
    world.record(ONE, |it| it.described = Some(described()));
    assert_eq!(plan(&world, ONE).actions, [], "EC2 knows whose it is");
}

#[test]
fn an_instance_that_was_never_known_is_buried_at_once() {
    let mut world = world(1);
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Gone));
}
