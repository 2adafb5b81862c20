//! Worlds to begin with, and looks into them.

use std::time::Duration;

use super::scene::{address, key_name};
use super::world::{World, config};
use crate::reconcile::decide::Plan;
use crate::worker::{State, WorkerStatus};

pub(super) const ONE: &str = "i-00000001";
pub(super) const TWO: &str = "i-00000002";

pub(super) fn world(keys: u8) -> World {
    let mut world = World::at("2026-12-02T00:00:00Z");
    (1..=keys).for_each(|it| world.add_key(it));
    world
}

pub(super) fn plan(world: &World, instance: &str) -> Plan {
    let again = !status(world, instance).withdrawn.is_empty();
    let token_id = if again { "ghijkl" } else { "abcdef" };
    world.decide(instance, &config(), world.now, token_id)
}

/// Passes until nothing is left to do; the last plan.
pub(super) fn settle(world: &mut World, instance: &str) -> Plan {
    pass_until_rest(world, instance).0
}

/// How many calls it takes until nothing is left to do.
pub(super) fn calls_until_rest(world: &mut World, instance: &str) -> usize {
    pass_until_rest(world, instance).1
}

fn pass_until_rest(world: &mut World, instance: &str) -> (Plan, usize) {
    let mut calls = 0;
    for _ in 0..10 {
        let plan = plan(world, instance);
        if plan.actions.is_empty() {
            return (plan, calls);
        }
        let mut seen = world.workers[instance].metadata.resource_version.clone();
        for action in plan.actions {
            world.apply(instance, action, &mut seen).unwrap();
            calls += 1;
        }
        if !world.workers.contains_key(instance) {
            break;
        }
    }
    panic!("{instance} does not come to rest");
}

/// EC2 shuts the instance down, its kubelet falls silent, and all that takes its time.
pub(super) fn end(world: &mut World, instance: &str) {
    world.announce(instance, State::ShuttingDown);
    settle(world, instance);
    world.now += Duration::from_secs(40);
    world.announce(instance, State::Terminated);
    settle(world, instance);
}

pub(super) fn status<'a>(world: &'a World, instance: &str) -> &'a WorkerStatus {
    world.workers[instance].status.as_ref().unwrap()
}

pub(super) fn reason<'a>(world: &'a World, instance: &str, kind: &str) -> &'a str {
    let condition = status(world, instance).conditions.iter().find(|it| it.type_ == kind);
    condition.map_or("", |it| &it.reason)
}

pub(super) fn is_labelled(world: &World, key: u8, instance: &str) -> bool {
    world.holder(&key_name(key)) == instance
}

/// An instance that has claimed and is given all that it needs.
pub(super) fn joining(keys: u8) -> World {
    let mut world = world(keys);
    world.announce(ONE, State::Running);
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    world
}

/// Its Node is Ready.
pub(super) fn joined() -> World {
    let mut world = joining(1);
    world.node(ONE, &address(1), true);
    settle(&mut world, ONE);
    world
}
