//! What is done about what has no Worker.

use super::fixture::{ONE, TWO, end, joined, joining, reason, settle, status, world};
use super::scene::key_name;
use crate::reconcile::decide::{Orphan, orphans};
use crate::worker::Phase;

#[test]
fn an_instance_whose_worker_was_deleted_is_adopted_with_its_node() {
    let mut world = joined();
    world.workers.clear();
    let found = world.orphans();
    let expected = Orphan::Instance {
        instance: ONE.parse().unwrap(),
        key: key_name(1),
    };
    assert_eq!(found, [expected]);
    world.tend();
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).phase, status(&world, ONE).key.clone()),
        (Some(Phase::Ready), Some(key_name(1)))
    );
    assert!(status(&world, ONE).joined.is_some(), "secrets are not handed out again");
    assert_eq!(world.orphans(), []);
}

#[test]
fn an_adopted_instance_is_released_as_any_other() {
    let mut world = joined();
    world.workers.clear();
    world.tend();
    settle(&mut world, ONE);
    end(&mut world, ONE);
    world.now += std::time::Duration::from_mins(4);
    settle(&mut world, ONE);
    assert!(world.nodes.is_empty() && world.holder(&key_name(1)).is_empty());
}

#[test]
fn the_token_of_a_deleted_worker_is_taken_back() {
    let mut world = joining(1);
    world.workers.clear();
    world.tend();
    assert_eq!((world.tokens.len(), world.joins.len()), (0, 0));
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).key, Some(key_name(1)), "its key stays its own");
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    assert_eq!(world.tokens.len(), 1);
}

#[test]
fn the_key_of_an_adopted_instance_is_nobody_elses() {
    let mut world = joined();
    world.workers.clear();
    world.claim(TWO, "kubelet key", None);
    settle(&mut world, TWO);
    assert_eq!(reason(&world, TWO, "KeyAssigned"), "PoolEmpty");
}

#[test]
fn a_label_that_names_no_instance_is_reported_and_left_alone() {
    let mut world = world(1);
    let labels = world.keys.get_mut(&key_name(1)).unwrap().metadata.labels.as_mut();
    labels
        .unwrap()
        .insert(crate::names::INSTANCE_LABEL.to_owned(), "reserved".to_owned());
    assert_eq!(world.orphans(), [Orphan::Nobody { key: key_name(1) }]);
    world.tend();
    assert!(world.workers.is_empty());
}

#[test]
fn nothing_of_a_living_worker_is_an_orphan() {
    assert_eq!(joining(1).orphans(), []);
    assert_eq!(orphans(joining(1).keys.values().map(|it| &**it), [], |_| true), []);
}
