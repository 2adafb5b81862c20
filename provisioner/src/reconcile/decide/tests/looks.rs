//! What the look at a kubelet means for its node.

use std::time::Duration;

use jiff::Timestamp;
use test_case::test_case;

use super::fixture::{ONE, joining, settle, status};
use super::scene::address;
use super::world::{World, config};
use crate::config::{Config, Look};
use crate::reconcile::decide::{Action, Case, Looking, Plan, Seen, Sight, Target, decide};

/// The Node is Ready and has its startup taint.
fn registered() -> World {
    let mut world = joining(1);
    world.node(ONE, &address(1), true);
    world
}

fn target(world: &World) -> Target {
    Target::of(&world.nodes[ONE], address(1).parse().unwrap())
}

fn seen(world: &World, sight: Sight) -> Seen {
    Seen {
        target: target(world),
        since: world.now,
        times: 1,
        under_way: false,
        last: Some((world.now, sight)),
    }
}

fn plan(world: &World, config: &Config, seen: Option<Seen>, now: Timestamp) -> Plan {
    let mut observed = world.observe(ONE);
    observed.seen = seen;
    decide(Case {
        instance: &ONE.parse().unwrap(),
        worker: &world.workers[ONE],
        observed: &observed,
        config,
        now,
        token_id: "abcdef",
    })
}

fn lifts(plan: &Plan) -> bool {
    plan.actions
        .iter()
        .any(|it| matches!(it, Action::PatchNode { taints: Some(taints), .. } if taints.is_empty()))
}

/// The reason and the words of `Admitted`.
fn said(plan: &Plan) -> (String, String) {
    let saved = plan.actions.iter().rev().find_map(|it| match it {
        Action::Save(findings) => Some(findings),
        _ => None,
    });
    let conditions = saved.map(|it| it.conditions.clone()).unwrap_or_default();
    let admitted = conditions.into_iter().find(|it| it.type_ == "Admitted").unwrap();
    (admitted.reason, admitted.message)
}

fn silence() -> Sight {
    Sight::Silence("no route to host".to_owned())
}

#[test]
fn a_node_that_nobody_has_looked_at_is_looked_at_and_stays_closed() {
    let world = registered();
    let plan = plan(&world, &config(), None, world.now);
    assert_eq!(plan.looking, Looking::Now(target(&world)));
    assert_eq!(target(&world).at, "10.98.0.1:10250".parse().unwrap());
    assert!(!lifts(&plan));
    assert_eq!(said(&plan).0, "Looking");
}

#[test]
fn a_node_is_looked_at_before_it_is_ready() {
    let mut world = joining(1);
    world.node(ONE, &address(1), false);
    let plan = plan(&world, &config(), None, world.now);
    assert_eq!(plan.looking, Looking::Now(target(&world)));
    assert_eq!(said(&plan).0, "NotReady");
}

#[test]
fn a_kubelet_that_was_seen_opens_the_node() {
    let world = registered();
    let plan = plan(&world, &config(), Some(seen(&world, Sight::Right)), world.now);
    assert!(lifts(&plan));
    assert_eq!(said(&plan).0, "Admitted");
}

#[test]
fn what_was_seen_counts_for_a_minute_and_for_this_node_only() {
    let world = registered();
    let right = seen(&world, Sight::Right);
    let later = world.now + Duration::from_secs(61);
    let plan_of = |seen: &Seen, now| plan(&world, &config(), Some(seen.clone()), now);
    assert_eq!(plan_of(&right, later).looking, Looking::Now(target(&world)));
    assert!(!lifts(&plan_of(&right, later)));
    let mut another = right;
    another.target.uid = "another".to_owned();
    assert!(!lifts(&plan_of(&another, world.now)));
}

#[test]
fn while_somebody_looks_nobody_else_does() {
    let world = registered();
    let mut seen = seen(&world, silence());
    seen.under_way = true;
    let later = world.now + Duration::from_mins(5);
    assert_eq!(plan(&world, &config(), Some(seen), later).looking, Looking::Later);
}

#[test_case(1, 1; "first")]
#[test_case(2, 2; "second")]
#[test_case(5, 16; "fifth")]
#[test_case(7, 60; "seventh")]
#[test_case(u32::MAX, 60; "for ever")]
fn a_silent_kubelet_is_looked_for_less_and_less(times: u32, seconds: u64) {
    let world = registered();
    let mut seen = seen(&world, silence());
    seen.times = times;
    let early = world.now + Duration::from_millis(seconds * 1000 - 500);
    let plan_at = |now| plan(&world, &config(), Some(seen.clone()), now);
    assert_eq!(plan_at(early).looking, Looking::Later);
    assert!(plan_at(early).again <= Duration::from_millis(500));
    let due = world.now + Duration::from_secs(seconds);
    assert_eq!(plan_at(due).looking, Looking::Now(target(&world)));
}

#[test_case(silence(), 59, "Looking", "10.98.0.1:10250"; "silence for less than a minute")]
#[test_case(silence(), 60, "NotOnTunnel", "no route to host"; "silence")]
#[test_case(silence(), 60, "NotOnTunnel", "route to 10.98.0.1 through the WireGuard gateway"; "silence has a remedy")]
#[test_case(Sight::NoCertificate, 1, "Looking", "looks for"; "no certificate yet")]
#[test_case(Sight::NoCertificate, 60, "NotOnTunnel", "kubectl get csr"; "no certificate")]
#[test_case(Sight::NoAuthority("forbidden".to_owned()), 60, "NotOnTunnel", "kube-root-ca.crt"; "no CA")]
#[test_case(Sight::WrongCertificate("another CA signed it".to_owned()), 1, "WrongCertificate", "another CA signed it"; "a wrong certificate")]
fn an_obstacle_is_said_with_its_address(sight: Sight, after: u64, reason: &str, words: &str) {
    let world = registered();
    let now = world.now + Duration::from_secs(after);
    let plan = plan(&world, &config(), Some(seen(&world, sight)), now);
    let (said, message) = said(&plan);
    assert_eq!(said, reason);
    assert!(
        message.contains("10.98.0.1:10250") && message.contains(words),
        "{message}"
    );
    assert!(!lifts(&plan));
}

#[test_case(Some(10350), 10350; "its own")]
#[test_case(None, 10250; "none")]
#[test_case(Some(0), 10250; "no port")]
#[test_case(Some(70000), 10250; "more than there are")]
#[test_case(Some(-1), 10250; "less than there are")]
fn the_port_is_the_nodes_if_it_is_one(port: Option<i32>, expected: u16) {
    let mut world = registered();
    let status = world.nodes.get_mut(ONE).unwrap().status.as_mut().unwrap();
    let endpoints = port.map(|it| serde_json::json!({"kubeletEndpoint": {"Port": it}}));
    status.daemon_endpoints = endpoints.map(|it| serde_json::from_value(it).unwrap());
    assert_eq!(target(&world).at.port(), expected);
}

#[test]
fn where_it_is_off_nobody_looks() {
    let world = registered();
    let mut config = config();
    config.cluster.look = Look::Off;
    let plan = plan(&world, &config, None, world.now);
    assert_eq!(plan.looking, Looking::Needless);
    assert!(lifts(&plan));
}

#[test]
fn nobody_looks_at_a_node_that_is_open() {
    let mut world = registered();
    settle(&mut world, ONE);
    assert!(status(&world, ONE).joined.is_some());
    assert_eq!(plan(&world, &config(), None, world.now).looking, Looking::Needless);
}
