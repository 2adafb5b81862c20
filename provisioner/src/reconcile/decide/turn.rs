//! The turns that a Worker takes: what is new in its conditions, for the log, for Events and for counting.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::elapsed;
use crate::worker::{Announced, State};

/// Reasons that an operator must hear of.
const ALARMS: [&str; 21] = [
    "AddressInUse",
    "AnotherKey",
    "Contested",
    "Disputed",
    "Expired",
    "ForeignAddress",
    "ForeignNode",
    "Ignored",
    "Impaired",
    "JoinFailed",
    "KeyChanged",
    "KeyDoubled",
    "KeyLost",
    "Missing",
    "NodeExists",
    "NotEligible",
    "NotOnTunnel",
    "PoolEmpty",
    "Quarantined",
    "Suspect",
    "WrongCertificate",
];

/// Reasons of what does not hold and is news all the same.
const NEWS: [&str; 2] = ["CoolingDown", "Revoked"];

/// How much a turn matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Nothing happened yet.
    Quiet,
    Normal,
    /// Somebody should look.
    Warning,
}

/// One condition that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) kind: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) weight: Weight,
}

/// What is new. A message may change at any time: only another reason, status or time is a turn.
pub(crate) fn turns(before: &[Condition], after: &[Condition]) -> Vec<Turn> {
    let is_new = |it: &&Condition| {
        let known = before.iter().find(|before| before.type_ == it.type_);
        let turned = |it: &Condition| (it.reason.clone(), it.status.clone(), it.last_transition_time.clone());
        known.is_none_or(|known| turned(known) != turned(it))
    };
    after.iter().filter(is_new).map(turn).collect()
}

fn turn(condition: &Condition) -> Turn {
    let reason = condition.reason.as_str();
    let holds = condition.status == "True";
    let weight = match reason {
        _ if ALARMS.contains(&reason) => Weight::Warning,
        "NotReady" if holds => Weight::Warning,
        _ if holds || NEWS.contains(&reason) => Weight::Normal,
        _ => Weight::Quiet,
    };
    Turn {
        kind: condition.type_.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        weight,
    }
}

/// The phases of a join that were reached just now, and how long after the instance ran.
pub(crate) fn reached(
    announced: Option<&Announced>,
    before: &[Condition],
    after: &[Condition],
) -> Vec<(&'static str, Duration)> {
    let Some(announced) = announced.filter(|it| it.state == State::Running) else {
        return Vec::new();
    };
    let held = |it: &Condition| {
        before
            .iter()
            .any(|known| known.type_ == it.type_ && known.status == "True")
    };
    let new = after.iter().filter(|it| it.status == "True" && !held(it));
    new.filter_map(|it| Some((phase(&it.type_)?, elapsed(announced.time, it.last_transition_time.0))))
        .collect()
}

fn phase(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Announced" => "announced",
        "Claimed" => "claimed",
        "KeyAssigned" => "key",
        "TokenIssued" => "token",
        "CertificateApproved" => "certificate",
        "Joined" => "joined",
        "Admitted" => "admitted",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use test_case::test_case;

    use super::*;

    fn condition(kind: &str, status: &str, reason: &str, second: i64) -> Condition {
        Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: "words".to_owned(),
            last_transition_time: Time(Timestamp::from_second(second).unwrap()),
            observed_generation: None,
        }
    }

    #[test_case("Announced", "True", "Running", Weight::Normal)]
    #[test_case("Announced", "True", "Disputed", Weight::Warning)]
    #[test_case("Announced", "False", "NotHeardOf", Weight::Quiet)]
    #[test_case("Claimed", "True", "Proven", Weight::Normal)]
    #[test_case("Claimed", "False", "Contested", Weight::Warning)]
    #[test_case("KeyAssigned", "True", "Assigned", Weight::Normal)]
    #[test_case("KeyAssigned", "False", "Assigning", Weight::Quiet)]
    #[test_case("KeyAssigned", "False", "PoolEmpty", Weight::Warning)]
    #[test_case("KeyAssigned", "False", "NotEligible", Weight::Warning)]
    #[test_case("TokenIssued", "True", "Issued", Weight::Normal)]
    #[test_case("TokenIssued", "False", "Expired", Weight::Warning)]
    #[test_case("TokenIssued", "False", "Revoked", Weight::Normal)]
    #[test_case("CertificateApproved", "True", "Approved", Weight::Normal)]
    #[test_case("CertificateApproved", "False", "Ignored", Weight::Warning)]
    #[test_case("Joined", "False", "NotReady", Weight::Quiet; "one that was never ready")]
    #[test_case("Joined", "False", "JoinFailed", Weight::Warning)]
    #[test_case("Joined", "True", "Ready", Weight::Normal)]
    #[test_case("Connected", "True", "Sound", Weight::Normal)]
    #[test_case("Connected", "False", "Impaired", Weight::Warning)]
    #[test_case("Joined", "True", "NotReady", Weight::Warning; "one that was ready before")]
    #[test_case("Joined", "False", "Missing", Weight::Warning)]
    #[test_case("Admitted", "False", "ForeignAddress", Weight::Warning)]
    #[test_case("Admitted", "True", "Admitted", Weight::Normal)]
    #[test_case("Rejected", "True", "AnotherKey", Weight::Warning)]
    #[test_case("Released", "False", "CoolingDown", Weight::Normal)]
    #[test_case("Released", "False", "AddressInUse", Weight::Warning)]
    #[test_case("Released", "True", "Released", Weight::Normal)]
    fn a_condition_that_is_new_is_a_turn(kind: &str, status: &str, reason: &str, weight: Weight) {
        let after = [condition(kind, status, reason, 0)];
        let expected = Turn {
            kind: kind.to_owned(),
            reason: reason.to_owned(),
            message: "words".to_owned(),
            weight,
        };
        assert_eq!(turns(&[], &after), [expected]);
        assert_eq!(turns(&after, &after), []);
    }

    #[test]
    fn another_message_is_no_turn_and_another_reason_is() {
        let before = [condition("KeyAssigned", "False", "PoolEmpty", 0)];
        let mut after = before.clone();
        after[0].message = "none of 4 keys is free".to_owned();
        assert_eq!(turns(&before, &after), []);
        after[0].reason = "Waiting".to_owned();
        assert_eq!(turns(&before, &after).len(), 1);
    }

    #[test]
    fn what_happens_again_is_a_turn_again() {
        let times = |second| [condition("Rejected", "True", "AnotherKey", second)];
        assert_eq!(turns(&times(0), &times(0)), []);
        assert_eq!(turns(&times(0), &times(600)).len(), 1);
    }

    fn announced(state: State) -> Announced {
        Announced {
            state,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            time: Timestamp::from_second(100).unwrap(),
        }
    }

    #[test]
    fn a_phase_is_timed_once_from_running() {
        let before = [condition("Announced", "True", "Running", 102)];
        let after = [
            before[0].clone(),
            condition("Claimed", "True", "Proven", 130),
            condition("KeyAssigned", "False", "PoolEmpty", 130),
            condition("Released", "True", "Released", 131),
        ];
        let running = announced(State::Running);
        let expected = [("claimed", Duration::from_secs(30))];
        assert_eq!(reached(Some(&running), &before, &after), expected);
        assert_eq!(reached(Some(&running), &after, &after), []);
        assert_eq!(reached(Some(&announced(State::Stopping)), &before, &after), []);
        assert_eq!(reached(None, &before, &after), []);
    }
}
