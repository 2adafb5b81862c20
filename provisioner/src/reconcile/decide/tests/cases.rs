//! What is decided, case by case.

use std::time::Duration;

use test_case::test_case;

use super::world::{World, address, config, key_name};
use crate::names::INSTANCE_LABEL;
use crate::reconcile::decide::{Action, Plan};
use crate::worker::{Phase, State, WorkerStatus};

const ONE: &str = "i-00000001";
const TWO: &str = "i-00000002";

fn world(keys: u8) -> World {
    let mut world = World::at("2026-12-02T00:00:00Z");
    (1..=keys).for_each(|it| world.add_key(it));
    world
}

fn plan(world: &World, instance: &str) -> Plan {
    world.decide(instance, &config(), world.now, "abcdef")
}

/// Passes until nothing is left to do; the last plan.
fn settle(world: &mut World, instance: &str) -> Plan {
    for _ in 0..10 {
        let plan = plan(world, instance);
        if plan.actions.is_empty() {
            return plan;
        }
        let mut seen = world.workers[instance].metadata.resource_version.clone();
        for action in plan.actions {
            world.apply(instance, action, &mut seen).unwrap();
        }
        if !world.workers.contains_key(instance) {
            break;
        }
    }
    panic!("{instance} does not come to rest");
}

fn status<'a>(world: &'a World, instance: &str) -> &'a WorkerStatus {
    world.workers[instance].status.as_ref().unwrap()
}

fn reason<'a>(world: &'a World, instance: &str, kind: &str) -> &'a str {
    let condition = status(world, instance).conditions.iter().find(|it| it.type_ == kind);
    condition.map_or("", |it| &it.reason)
}

fn is_labelled(world: &World, key: u8, instance: &str) -> bool {
    world.holder(&key_name(key)) == instance
}

/// An instance that has claimed and is given all that it needs.
fn joining(keys: u8) -> World {
    let mut world = world(keys);
    world.announce(ONE, State::Running);
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    world
}

/// Its Node is Ready.
fn joined() -> World {
    let mut world = joining(1);
    world.node(ONE, &address(1), true);
    settle(&mut world, ONE);
    world
}

#[test]
fn an_announced_instance_gets_a_key_and_no_token() {
    let mut world = world(2);
    world.announce(ONE, State::Pending);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE) && is_labelled(&world, 2, ""));
    assert_eq!(
        (status(&world, ONE).phase, world.tokens.len()),
        (Some(Phase::Announced), 0)
    );
}

#[test]
fn a_claim_gets_a_token_that_was_kept_first_and_is_shown_last() {
    let mut world = world(1);
    world.claim(ONE, "kubelet key", None);
    let actions = plan(&world, ONE).actions;
    let kinds = actions
        .iter()
        .map(|it| format!("{it:?}").split([' ', '(']).next().unwrap().to_owned());
    let kinds: Vec<String> = kinds.collect();
    assert_eq!(kinds, ["Save", "LabelKey", "WriteJoin", "CreateToken", "Save"]);
    settle(&mut world, ONE);
    let token = status(&world, ONE).token.clone().unwrap();
    assert_eq!((token.id.as_str(), token.generation), ("abcdef", 1));
    assert_eq!(token.expires, world.now + Duration::from_mins(12));
    assert_eq!(status(&world, ONE).phase, Some(Phase::Joining));
}

#[test_case(State::Stopping)]
#[test_case(State::Stopped)]
#[test_case(State::ShuttingDown)]
fn an_instance_that_ends_keeps_all_and_gets_nothing(state: State) {
    let mut world = joining(2);
    world.announce(ONE, state);
    world.now += Duration::from_secs(721);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(
        (status(&world, ONE).phase, world.tokens.len()),
        (Some(Phase::Stopped), 1)
    );
    world.announce(TWO, state);
    settle(&mut world, TWO);
    assert_eq!(
        (status(&world, TWO).key.clone(), reason(&world, TWO, "KeyAssigned")),
        (None, "Withheld")
    );
}

#[test]
fn an_instance_of_no_group_gets_nothing() {
    let mut world = world(1);
    world.claim(ONE, "kubelet key", None);
    world.record(ONE, |it| it.attested.as_mut().unwrap().region = "eu-west-1".to_owned());
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ""));
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "NotEligible");
}

#[test]
fn an_empty_pool_is_said_and_a_new_key_is_taken() {
    let mut world = joining(1);
    world.claim(TWO, "kubelet key", None);
    settle(&mut world, TWO);
    assert_eq!(
        (reason(&world, TWO, "KeyAssigned"), status(&world, TWO).phase),
        ("PoolEmpty", Some(Phase::Waiting))
    );
    world.add_key(2);
    settle(&mut world, TWO);
    assert!(is_labelled(&world, 2, TWO));
    assert_eq!(status(&world, TWO).phase, Some(Phase::Joining));
}

#[test]
fn a_key_with_the_instance_on_its_label_is_adopted() {
    let mut world = world(2);
    label(&mut world, 2, Some(ONE));
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, "") && is_labelled(&world, 2, ONE));
    assert_eq!(status(&world, ONE).key, Some(key_name(2)));
}

#[test]
fn a_key_without_the_label_or_a_document_or_in_use_is_left_alone() {
    let mut world = world(4);
    label(&mut world, 1, None);
    world.keys.get_mut(&key_name(2)).unwrap().data = None;
    world.node("on-premises", &address(3), true);
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).key, Some(key_name(4)));
    world.claim(TWO, "kubelet key", None);
    settle(&mut world, TWO);
    let words = &status(&world, TWO)
        .conditions
        .iter()
        .find(|it| it.reason == "PoolEmpty")
        .unwrap()
        .message;
    assert!(
        words.contains("none of 4 keys") && words.contains("(1 without") && words.contains("2 with"),
        "{words}"
    );
}

fn label(world: &mut World, key: u8, value: Option<&str>) {
    let labels = value.map(|it| [(INSTANCE_LABEL.to_owned(), it.to_owned())].into());
    world.keys.get_mut(&key_name(key)).unwrap().metadata.labels = labels;
}

#[test]
fn an_expired_token_is_replaced_as_long_as_the_claim_holds() {
    let mut world = joining(1);
    world.now += Duration::from_mins(12);
    let expired = plan(&world, ONE);
    assert!(expired.actions.contains(&Action::DeleteToken {
        id: "abcdef".to_owned()
    }));
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).token.as_ref().unwrap().generation, 1);
    world.now += Duration::from_hours(1);
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).token.clone(), world.tokens.len(), world.joins.len()),
        (None, 0, 0)
    );
}

#[test]
fn a_reset_replaces_the_token_and_the_node_that_never_came_up() {
    let mut world = joining(1);
    world.node(ONE, &address(1), false);
    settle(&mut world, ONE);
    world.claim(ONE, "kubelet key", Some(1));
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).generation, Some(2));
    assert_eq!(
        (world.nodes.len(), world.tokens.len(), status(&world, ONE).key.clone()),
        (0, 1, Some(key_name(1)))
    );
    world.node(ONE, &address(1), false);
    settle(&mut world, ONE);
    assert_eq!(
        (world.nodes.len(), status(&world, ONE).generation),
        (1, Some(2)),
        "the same reset counts once"
    );
}

#[test]
fn a_contested_instance_loses_its_token_and_keeps_its_key() {
    let mut world = joining(2);
    let now = world.now;
    world.record(ONE, |it| it.contested = Some(now));
    world.node(ONE, &address(1), true);
    settle(&mut world, ONE);
    assert_eq!((world.tokens.len(), world.joins.len()), (0, 0));
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(
        (status(&world, ONE).phase, status(&world, ONE).joined),
        (Some(Phase::Failed), None)
    );
    assert_eq!(reason(&world, ONE, "Claimed"), "Contested");
    assert_eq!(
        world.nodes[ONE].spec.as_ref().unwrap().taints.as_ref().unwrap().len(),
        1,
        "pods stay away"
    );
}

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
fn a_gone_instance_gives_everything_back_and_leaves_a_tombstone() {
    let mut world = joined();
    world.announce(ONE, State::Terminated);
    let at_rest = settle(&mut world, ONE);
    assert!(world.nodes.is_empty() && is_labelled(&world, 1, ONE), "the key rests");
    assert_eq!(status(&world, ONE).phase, Some(Phase::Releasing));
    assert_eq!(at_rest.again, Duration::from_secs(30));
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
    world.announce(ONE, State::Terminated);
    world.now += Duration::from_secs(1000);
    settle(&mut world, ONE);
    world.now += Duration::from_secs(1000);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(reason(&world, ONE, "Released"), "AddressInUse");
}

#[test]
fn an_instance_that_was_never_known_is_buried_at_once() {
    let mut world = world(1);
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    assert_eq!(status(&world, ONE).phase, Some(Phase::Gone));
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
