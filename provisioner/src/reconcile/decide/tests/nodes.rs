//! What becomes of a Node.

use std::time::Duration;

use test_case::test_case;

use super::fixture::{ONE, joined, joining, plan, reason, settle, status};
use super::scene::address;
use super::world::World;
use crate::worker::{Phase, State};

#[test]
fn a_quarrel_after_the_join_changes_nothing() {
    let mut world = joined();
    let now = world.now;
    world.record(ONE, |it| it.contested = Some(now));
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
}

#[test]
fn a_ready_node_costs_the_token_and_gets_labels_and_pods() {
    let world = joined();
    assert_eq!((world.tokens.len(), world.joins.len()), (0, 0));
    let node = &world.nodes[ONE];
    assert_eq!(node.spec.as_ref().unwrap().taints, Some(vec![]));
    assert_eq!(
        node.metadata.labels.as_ref().unwrap()["node-role.kubernetes.io/worker"],
        ""
    );
    assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
    assert_eq!(
        status(&world, ONE).node.as_ref().unwrap().zone.as_deref(),
        Some("eu-central-1a")
    );
}

#[test]
fn a_node_that_is_not_ready_is_labelled_and_stays_closed() {
    let mut world = joining(1);
    world.node(ONE, &address(1), false);
    settle(&mut world, ONE);
    let node = &world.nodes[ONE];
    assert_eq!(node.metadata.labels.as_ref().unwrap().len(), 2);
    assert_eq!(node.spec.as_ref().unwrap().taints.as_ref().unwrap().len(), 1);
    assert_eq!(
        (status(&world, ONE).phase, world.tokens.len()),
        (Some(Phase::Joining), 1)
    );
}

#[test_case("172.31.0.10", "ForeignAddress"; "the address of the VPC")]
#[test_case("", "NoAddress"; "no address")]
fn a_node_with_another_address_stays_closed(shown: &str, expected: &str) {
    let mut world = joining(1);
    world.node(ONE, shown, true);
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "Admitted"), expected);
    assert_eq!(
        world.nodes[ONE].spec.as_ref().unwrap().taints.as_ref().unwrap().len(),
        1
    );
}

#[test]
fn labels_are_not_changed_once_pods_may_come() {
    let mut world = joined();
    world.nodes.get_mut(ONE).unwrap().metadata.labels = None;
    assert_eq!(plan(&world, ONE).actions, []);
}

#[test_case(None; "none")]
#[test_case(Some("aws:///eu-central-1a/i-00000002"); "of another instance")]
#[test_case(Some("aws:////i-00000001"); "no zone")]
#[test_case(Some("aws:///eu/central/i-00000001"); "two zones")]
#[test_case(Some("gce:///eu-central-1a/i-00000001"); "of another cloud")]
fn a_node_with_another_provider_id_is_not_touched(provider_id: Option<&str>) {
    let mut world = joining(1);
    world.node(ONE, &address(1), true);
    world.nodes.get_mut(ONE).unwrap().spec.as_mut().unwrap().provider_id = provider_id.map(str::to_owned);
    settle(&mut world, ONE);
    assert_eq!(
        (reason(&world, ONE, "Joined"), status(&world, ONE).joined),
        ("ForeignNode", None)
    );
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert!(world.nodes.contains_key(ONE), "a stranger's Node is not deleted");
}

#[test]
fn a_condition_keeps_its_time_while_it_holds() {
    let mut world = joined();
    let since = |world: &World| {
        status(world, ONE)
            .conditions
            .iter()
            .map(|it| it.last_transition_time.clone())
            .collect::<Vec<_>>()
    };
    let before = since(&world);
    world.now += Duration::from_mins(10);
    world.announce(ONE, State::Running);
    settle(&mut world, ONE);
    assert_eq!(since(&world), before);
}
