//! What happens when nobody knows whether an instance is gone.

use std::time::Duration;

use test_case::test_case;

use super::fixture::{ONE, end, is_labelled, joined, joining, reason, settle, status};
use super::scene::{address, key_name};
use super::world::{World, config};
use crate::reconcile::decide::{Weight, turns};
use crate::worker::tests::described;
use crate::worker::{Phase, State};

/// Announced as terminated while its kubelet renews its Lease.
fn forged() -> World {
    let mut world = joined();
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    renew(&mut world);
    world
}

/// The Lease changes; what is written into it is the node's affair.
fn renew(world: &mut World) {
    world.now += Duration::from_secs(10);
    let written = world.leases.get(ONE).copied().unwrap_or_default() + Duration::from_secs(10);
    world.leases.insert(ONE.to_owned(), written);
    settle(world, ONE);
}

#[test]
fn a_terminated_that_the_lease_contradicts_releases_nothing() {
    let mut world = forged();
    assert_eq!(reason(&world, ONE, "Released"), "Suspect");
    for _ in 0..360 {
        renew(&mut world);
        assert_eq!(status(&world, ONE).phase, Some(Phase::Suspect));
    }
    assert!(world.nodes.contains_key(ONE) && is_labelled(&world, 1, ONE));
}

#[test_case("2000-01-01T00:00:00Z"; "its clock is far behind")]
#[test_case("2025-12-02T00:00:00Z"; "its clock is right")]
#[test_case("2099-01-01T00:00:00Z"; "its clock is far ahead")]
fn whatever_a_lease_says_it_holds_while_it_changes(written: &str) {
    let mut world = joined();
    world.leases.insert(ONE.to_owned(), written.parse().unwrap());
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).phase, reason(&world, ONE, "Released")),
        (Some(Phase::Releasing), "Listening"),
        "nobody knows yet"
    );
    world.now += Duration::from_secs(39);
    assert_eq!(settle(&mut world, ONE).again, Duration::from_secs(1));
    assert!(world.nodes.contains_key(ONE));
    world.now += Duration::from_secs(1);
    settle(&mut world, ONE);
    assert!(world.nodes.is_empty(), "it has not changed for as long as it holds");
}

#[test]
fn who_shuts_down_is_watched_and_released_at_once_when_it_has_ended() {
    let mut world = joined();
    world.announce(ONE, State::ShuttingDown);
    settle(&mut world, ONE);
    world.now += Duration::from_secs(40);
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert!(world.nodes.is_empty());
}

#[test]
fn who_was_not_gone_after_all_is_watched_afresh() {
    let mut world = joined();
    world.announce(ONE, State::ShuttingDown);
    settle(&mut world, ONE);
    world.announce(ONE, State::Running);
    settle(&mut world, ONE);
    world.now += Duration::from_hours(1);
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert!(world.nodes.contains_key(ONE));
}

#[test_case(|world: &mut World| world.now += Duration::from_secs(40); "the lease is stale")]
#[test_case(|world: &mut World| world.workers.get_mut(ONE).unwrap().spec.forced = true; "the operator says so")]
#[test_case(|world: &mut World| world.record(ONE, |it| it.described = Some(terminated())); "EC2 says so")]
fn a_suspect_is_released_when(known: fn(&mut World)) {
    let mut world = forged();
    known(&mut world);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Releasing));
    assert!(world.nodes.is_empty());
}

/// Somebody deleted the Worker, and before it was adopted an account told of its end.
#[test_case(false, false; "of one account")]
#[test_case(true, false; "of two accounts")]
#[test_case(false, true; "of one account, which told of a start before")]
#[test_case(true, true; "of two accounts, after a start")]
fn the_end_of_an_instance_that_only_a_key_knows_is_believed_of_one_account_only(two: bool, starts: bool) {
    let mut config = config();
    if two {
        config.node_groups[0].accounts.push("999999999999".to_owned());
    }
    let mut world = joining(1);
    world.workers.clear();
    if starts {
        world.announce(ONE, State::Running);
        settle(&mut world, ONE);
        assert!(status(&world, ONE).inherited && status(&world, ONE).key.is_some());
    }
    world.announce(ONE, State::Terminated);
    for _ in 0..10 {
        let mut seen = world.workers[ONE].metadata.resource_version.clone();
        for action in world.decide(ONE, &config, world.now, "zzzzzz").actions {
            world.apply(ONE, action, &mut seen).unwrap();
        }
        world.now += Duration::from_mins(2);
    }
    assert_eq!(is_labelled(&world, 1, ONE), two);
    if two {
        assert_eq!(
            (status(&world, ONE).phase, reason(&world, ONE, "Released")),
            (Some(Phase::Suspect), "Suspect")
        );
        world.workers.get_mut(ONE).unwrap().spec.forced = true;
        settle(&mut world, ONE);
        world.now += Duration::from_mins(4);
        settle(&mut world, ONE);
        assert!(is_labelled(&world, 1, ""), "the operator says so");
    }
}

#[test]
fn a_lease_that_is_deleted_proves_nothing_at_once() {
    let mut world = forged();
    world.leases.clear();
    settle(&mut world, ONE);
    assert!(world.nodes.contains_key(ONE), "a kubelet makes it again");
    world.now += Duration::from_secs(40);
    settle(&mut world, ONE);
    assert!(world.nodes.is_empty());
}

fn terminated() -> crate::worker::Described {
    crate::worker::Described {
        state: State::Terminated,
        ..described()
    }
}

#[test]
fn an_instance_that_never_joined_is_suspect_after_an_hour() {
    let mut world = joining(1);
    world.now += Duration::from_secs(3599);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Joining));
    world.now += Duration::from_secs(1);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Suspect));
    assert!(is_labelled(&world, 1, ONE), "silence frees nothing");
    world.record(ONE, |it| it.described = Some(described()));
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Joining), "EC2 says that it runs");
}

#[test]
fn an_instance_whose_node_is_missing_is_suspect_until_it_is_there_again() {
    let mut world = joined();
    world.nodes.clear();
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).phase, reason(&world, ONE, "Joined")),
        (Some(Phase::NotReady), "Missing")
    );
    world.now += Duration::from_hours(1);
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).phase, reason(&world, ONE, "Joined")),
        (Some(Phase::Suspect), "Suspect")
    );
    world.node(ONE, &address(1), true);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
}

#[test]
fn a_quarrel_puts_the_key_into_quarantine_for_good() {
    let mut world = joining(1);
    let now = world.now;
    world.record(ONE, |it| it.contested = Some(now));
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, "quarantined"));
    assert_eq!(
        (status(&world, ONE).phase, reason(&world, ONE, "KeyAssigned")),
        (Some(Phase::Failed), "Quarantined")
    );
    world.announce(ONE, State::Terminated);
    world.now += Duration::from_hours(1);
    settle(&mut world, ONE);
    world.now += Duration::from_hours(1);
    settle(&mut world, ONE);
    assert!(
        is_labelled(&world, 1, "quarantined"),
        "its instance is gone, the theft is not"
    );
    assert_eq!(status(&world, ONE).phase, Some(Phase::Gone));
}

#[test]
fn a_quarrel_after_the_join_is_told_each_time_and_changes_nothing() {
    let mut world = joined();
    for _ in 0..2 {
        world.now += Duration::from_mins(10);
        let (now, before) = (world.now, status(&world, ONE).conditions.clone());
        world.record(ONE, |it| it.rejected = Some(now));
        settle(&mut world, ONE);
        let turns = turns(&before, &status(&world, ONE).conditions);
        let told: Vec<_> = turns.iter().map(|it| (it.reason.as_str(), it.weight)).collect();
        assert_eq!(told, [("AnotherKey", Weight::Warning)]);
        assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
        assert!(world.nodes.contains_key(ONE) && is_labelled(&world, 1, ONE));
    }
}

#[test]
fn a_key_that_was_changed_after_the_join_is_reported() {
    let mut world = joined();
    world.edit_key(1, |it| it.replace("/32", "/31"));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "KeyChanged");
    assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
    world.edit_key(1, |it| it.replace("/31", "/32"));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "Assigned");
}

#[test]
fn a_key_that_was_changed_before_the_join_is_served_as_it_is_now() {
    let mut world = joining(1);
    let before = status(&world, ONE).key_fingerprint.clone();
    world.edit_key(1, |it| it.replace("/32", "/31"));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "Assigned");
    assert_ne!(status(&world, ONE).key_fingerprint, before);
}

#[test]
fn a_node_whose_key_was_deleted_gets_no_other_one() {
    let mut world = joined();
    world.add_key(2);
    world.keys.remove(&key_name(1));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "KeyLost");
    assert!(is_labelled(&world, 2, ""));
    world.add_key(1);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE), "it is put back");
}

#[test]
fn an_instance_that_stops_and_starts_keeps_its_key_though_another_waits_for_one() {
    let two = super::fixture::TWO;
    let mut world = joined();
    world.announce(ONE, State::Stopped);
    settle(&mut world, ONE);
    world.claim(two, "kubelet key", None);
    settle(&mut world, two);
    assert_eq!(reason(&world, two, "KeyAssigned"), "PoolEmpty");
    world.announce(ONE, State::Running);
    settle(&mut world, ONE);
    settle(&mut world, two);
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(status(&world, two).key, None);
}

/// From its announcement to its tombstone, each call that a pass makes.
#[test]
fn an_instance_costs_eighteen_calls_of_the_loop() {
    let mut world = super::fixture::world(1);
    let mut calls = 0;
    world.announce(ONE, State::Running);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.claim(ONE, "kubelet key", None);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.node(ONE, &address(1), false);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.node(ONE, &address(1), true);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.announce(ONE, State::ShuttingDown);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.now += Duration::from_secs(40);
    world.announce(ONE, State::Terminated);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    world.now += Duration::from_mins(4);
    calls += super::fixture::calls_until_rest(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Gone));
    assert_eq!(calls, 18);
}

#[test]
fn a_cool_down_outlives_a_clock_that_was_ahead() {
    let mut world = joined();
    world.now += Duration::from_hours(100);
    end(&mut world, ONE);
    world.now -= Duration::from_hours(100);
    settle(&mut world, ONE);
    world.now += Duration::from_secs(239);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE));
    world.now += Duration::from_secs(1);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ""));
}
