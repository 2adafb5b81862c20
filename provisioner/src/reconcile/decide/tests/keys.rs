//! Which key an instance gets.

use std::time::Duration;

use test_case::test_case;

use super::fixture::{ONE, TWO, is_labelled, joining, plan, reason, settle, status, world};
use super::scene::{address, key_name};
use super::world::{World, config};
use crate::config::Selector;
use crate::names::{INSTANCE_LABEL, KEY_FIELD};
use crate::reconcile::decide::{Action, Case, Keys, decide};
use crate::worker::{Phase, State};

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

#[test_case(State::Stopping)]
#[test_case(State::Stopped)]
#[test_case(State::ShuttingDown)]
fn an_instance_that_ends_keeps_its_key_and_gets_nothing(state: State) {
    let mut world = joining(2);
    world.announce(ONE, state);
    world.now += Duration::from_secs(721);
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, ONE));
    assert_eq!(
        (status(&world, ONE).phase, world.tokens.len()),
        (Some(Phase::Stopped), 0)
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
fn the_choice_of_another_is_left_to_it() {
    let mut world = world(2);
    world.announce(ONE, State::Running);
    world.record(ONE, |it| it.key = Some(key_name(1)));
    world.announce(TWO, State::Running);
    settle(&mut world, TWO);
    assert!(is_labelled(&world, 1, "") && is_labelled(&world, 2, TWO));
}

#[test]
fn a_choice_that_another_has_is_given_up_before_the_next() {
    let mut world = world(2);
    world.announce(ONE, State::Running);
    world.record(ONE, |it| it.key = Some(key_name(1)));
    label(&mut world, 1, Some(TWO));
    let actions = plan(&world, ONE).actions;
    let given_up = actions
        .iter()
        .position(|it| matches!(it, Action::GiveUpKey { name } if *name == key_name(1)));
    let labelled = actions.iter().position(|it| matches!(it, Action::LabelKey { .. }));
    assert!(given_up.is_some() && given_up < labelled, "{actions:?}");
    settle(&mut world, ONE);
    assert!(is_labelled(&world, 1, TWO) && is_labelled(&world, 2, ONE));
}

#[test_case("DNS = 192.168.10.1\n"; "no name server")]
#[test_case("Endpoint = vpn.onprem.example:51820\n"; "nowhere to call")]
fn a_key_that_no_node_could_use_is_left_alone(missing: &str) {
    let mut world = world(2);
    let version = world.next_version();
    let first = world.keys.get_mut(&key_name(1)).unwrap();
    first.metadata.resource_version = Some(version);
    let document = first.data.as_mut().unwrap().get_mut(KEY_FIELD).unwrap();
    let text = String::from_utf8(document.0.clone()).unwrap();
    assert!(text.contains(missing), "{text}");
    document.0 = text.replace(missing, "").into_bytes();
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
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

/// A Node that shows the second key's address as another kind of address, beside the instance's own old Node.
#[test_case("InternalIP")]
#[test_case("ExternalIP")]
fn an_address_that_any_other_node_shows_is_in_use(kind: &str) {
    let mut world = world(2);
    for node in [ONE, "on-premises"] {
        world.node(node, &address(1), true);
    }
    let node = world.nodes.get_mut("on-premises").unwrap();
    kind.clone_into(&mut node.status.as_mut().unwrap().addresses.as_mut().unwrap()[0].type_);
    let keys = Keys::of(
        world.keys.values().map(|it| &**it),
        &mut world.documents.borrow_mut(),
        &world.nodes.values().map(|it| &**it).collect::<Vec<_>>(),
        ONE,
        &Selector::default(),
        None,
        Default::default,
    );
    assert_eq!((keys.free.map(|it| it.name), keys.unusable), (Some(key_name(2)), 1));
}

fn label(world: &mut World, key: u8, value: Option<&str>) {
    let labels = value.map(|it| [(INSTANCE_LABEL.to_owned(), it.to_owned())].into());
    world.keys.get_mut(&key_name(key)).unwrap().metadata.labels = labels;
}

#[test_case("pool=one", Some(1), 1; "the key of its pool")]
#[test_case("pool=two", Some(2), 1; "not the first of all keys")]
#[test_case("pool=three", None, 0; "none where its pool has none")]
#[test_case("pool", Some(1), 2; "the first of several")]
fn an_instance_gets_a_key_of_its_groups_pool(pool: &str, expected: Option<u8>, total: usize) {
    let mut world = world(3);
    for (number, pool) in [(1, "one"), (2, "two")] {
        let labels = &mut world.keys.get_mut(&key_name(number)).unwrap().metadata.labels;
        labels.as_mut().unwrap().insert("pool".to_owned(), pool.to_owned());
    }
    let pool = Selector::try_from(pool.to_owned()).unwrap();
    let keys = Keys::of(
        world.keys.values().map(|it| &**it),
        &mut world.documents.borrow_mut(),
        &[],
        ONE,
        &pool,
        None,
        Default::default,
    );
    assert_eq!(
        (keys.free.map(|it| it.name), keys.total),
        (expected.map(key_name), total)
    );
}

#[test]
fn a_key_that_is_held_stays_so_when_the_pool_is_another() {
    let world = joining(1);
    let pool = Selector::try_from("pool=one".to_owned()).unwrap();
    let keys = Keys::of(
        world.keys.values().map(|it| &**it),
        &mut world.documents.borrow_mut(),
        &[],
        ONE,
        &pool,
        None,
        Default::default,
    );
    assert_eq!(keys.held.len(), 1);
}

#[test]
fn no_key_is_given_away_while_it_is_unknown_who_has_which() {
    let mut world = world(1);
    world.announce(ONE, State::Running);
    let mut observed = world.observe(ONE);
    observed.unsettled = true;
    let plan = decide(Case {
        instance: &ONE.parse().unwrap(),
        worker: &world.workers[ONE],
        observed: &observed,
        config: &config(),
        now: world.now,
        token_id: "abcdef",
    });
    assert!(
        !plan.actions.iter().any(|it| matches!(it, Action::LabelKey { .. })),
        "{plan:?}"
    );
}
