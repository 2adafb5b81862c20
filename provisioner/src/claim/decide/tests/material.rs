//! What is handed out, and what is said while there is nothing.

use dynk8s_api::PrivateKey;
use dynk8s_api::problem::Reason;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use test_case::test_case;

use super::case::{Case, ago, now, refused};
use crate::claim::decide::{Material, why_not};
use crate::worker::Wish;

#[test]
fn a_contested_claim_serves_nobody() {
    let mut case = Case::bound();
    case.status().contested = Some(ago(10));
    assert_eq!(refused(&case.decide()), Some(Reason::AnotherKey));
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AnotherKey, _))
    ));
}

#[test]
fn after_the_join_the_secrets_stay_where_they_are() {
    let mut case = Case::bound();
    case.status().joined = Some(ago(10));
    assert_eq!(refused(&case.decide()), Some(Reason::AlreadyJoined));
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AlreadyJoined, _))
    ));
}

#[test]
fn material_is_there_with_key_and_token_of_the_generation() {
    let there = Material::There {
        key: "wireguard-2".to_owned(),
        token: "abcdef".to_owned(),
    };
    assert_eq!(Case::bound().material(2), Some(there));
    assert_eq!(Case::bound().material(3), None, "the token of the generation before");
    let mut case = Case::bound();
    case.status().key = None;
    assert_eq!(case.material(2), None);
    let mut case = Case::bound();
    case.status().token.as_mut().unwrap().expires = now();
    assert_eq!(case.material(2), None, "the token has expired");
    let mut case = Case::bound();
    case.asked.sender = PrivateKey::generate().public();
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AnotherKey, _))
    ));
    let mut case = Case::bound();
    case.worker.spec.wished = Wish::Gone;
    assert!(matches!(case.material(2), Some(Material::Refused(Reason::Gone, _))));
}

#[test_case("False", "PoolEmpty", Reason::PoolEmpty; "no key is free")]
#[test_case("True", "Assigned", Reason::NotYet; "the token is still to come")]
fn what_is_missing_is_said(status: &str, reason: &str, expected: Reason) {
    let mut case = Case::bound();
    case.status().conditions = vec![Condition {
        type_: "KeyAssigned".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: "none of 2 keys is free".to_owned(),
        last_transition_time: Time(now()),
        observed_generation: None,
    }];
    let refusal = why_not(Some(&case.worker));
    assert_eq!(refusal.reason, expected);
    assert!(
        !refusal.told.contains('2'),
        "how many keys there are is nobody's business"
    );
    assert_eq!(why_not(None).reason, Reason::NotYet);
}
