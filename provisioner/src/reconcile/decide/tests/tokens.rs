//! When a token is made, replaced and taken back.

use std::time::Duration;

use test_case::test_case;

use super::fixture::{ONE, TWO, is_labelled, joining, plan, reason, settle, status, world};
use super::scene::{address, key_name};
use super::world::{World, config};
use crate::config::{Config, TokenMode};
use crate::reconcile::decide::Action;
use crate::worker::{Phase, State};

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

/// Another replica had kept it, and was about to make it.
#[test]
fn a_token_that_is_made_after_it_was_taken_back_is_deleted_once_more() {
    let mut world = joining(1);
    world.announce(ONE, State::Terminated);
    settle(&mut world, ONE);
    let expires = world.now + Duration::from_mins(12);
    world.make_token(ONE, "abcdef", expires);
    world.now += Duration::from_secs(119);
    settle(&mut world, ONE);
    assert_eq!(world.tokens.len(), 1);
    world.now += Duration::from_secs(1);
    settle(&mut world, ONE);
    assert_eq!(world.tokens.len(), 0);
    assert_eq!(status(&world, ONE).withdrawn, []);
}

/// What is written down is not forgotten before it is known whose token it was.
#[test]
fn a_token_is_written_down_as_taken_back_before_its_secret_goes() {
    let mut world = joining(1);
    world.announce(ONE, State::Terminated);
    let actions = plan(&world, ONE).actions;
    let deletes = actions.iter().position(|it| matches!(it, Action::DeleteJoin { .. }));
    let Action::Save(saved) = &actions[deletes.unwrap() - 1] else {
        panic!("{actions:?}");
    };
    assert_eq!(saved.withdrawn[0].id, "abcdef");
}

fn proves(world: &mut World, account: &str) {
    world.record(ONE, |it| account.clone_into(&mut it.attested.as_mut().unwrap().account));
}

/// Whatever the reason is, it gets another one when the reason has gone.
#[test_case(|world| world.announce(ONE, State::Stopping), |world| world.announce(ONE, State::Running); "it stops")]
#[test_case(|world| world.give(1, TWO), |world| world.add_key(1); "its key is another's")]
#[test_case(|world| proves(world, "999999999999"), |world| proves(world, "123456789012"); "it is of no node group")]
fn a_token_does_not_outlive_what_it_was_given_for(ends: fn(&mut World), begins: fn(&mut World)) {
    let mut world = joining(1);
    world.now += Duration::from_secs(5);
    ends(&mut world);
    settle(&mut world, ONE);
    assert_eq!(
        (status(&world, ONE).token.clone(), world.tokens.len(), world.joins.len()),
        (None, 0, 0)
    );
    assert_eq!(reason(&world, ONE, "TokenIssued"), "Revoked");
    world.now += Duration::from_mins(3);
    begins(&mut world);
    settle(&mut world, ONE);
    assert_eq!((world.tokens.len(), world.joins.len()), (1, 1));
    assert_eq!(reason(&world, ONE, "TokenIssued"), "Issued");
}

#[test]
fn a_contested_instance_loses_its_token_and_its_key_is_quarantined() {
    let mut world = joining(2);
    let now = world.now;
    world.record(ONE, |it| it.contested = Some(now));
    world.node(ONE, &address(1), true);
    settle(&mut world, ONE);
    assert_eq!((world.tokens.len(), world.joins.len()), (0, 0));
    assert!(is_labelled(&world, 1, "quarantined"));
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
fn a_group_may_have_its_tokens_made_as_soon_as_an_instance_runs() {
    let mut config = config();
    let mut world = world(1);
    world.announce(ONE, State::Running);
    let makes = |world: &World, config: &Config| {
        let plan = world.decide(ONE, config, world.now, "abcdef");
        plan.actions.iter().any(|it| matches!(it, Action::CreateToken { .. }))
    };
    assert!(!makes(&world, &config), "an instance that never asks needs none");
    config.node_groups[0].token = TokenMode::Running;
    assert!(makes(&world, &config));
    world.announce(ONE, State::Pending);
    assert!(!makes(&world, &config), "it would be older by the boot's time");
}
