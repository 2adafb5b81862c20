//! Who may act, from what the Lease shows.
//!
//! Clocks of others are not believed: a Lease is over when it has not changed for as long as it lasts, as we have seen it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

/// How long a Lease holds that is not renewed. A replica that is killed leaves nobody acting for this long.
pub(super) const LASTS: Duration = Duration::from_secs(15);

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Make the Lease.
    Create(Box<Lease>),
    /// Write the Lease, if it is as it was seen.
    Replace(Box<Lease>),
    /// Another has it.
    Wait,
}

/// Decides for the replica `me`; `unchanged` is for how long it has seen the Lease as it is.
pub(super) fn decide(seen: Option<&Lease>, me: &str, unchanged: Duration, now: Timestamp) -> Step {
    let Some(lease) = seen else {
        let metadata = ObjectMeta {
            name: Some(super::NAME.to_owned()),
            ..ObjectMeta::default()
        };
        return Step::Create(Box::new(taken(metadata, None, me, now)));
    };
    let holder = holder(lease);
    if holder.is_empty() || holder == me || unchanged >= LASTS {
        return Step::Replace(Box::new(taken(lease.metadata.clone(), lease.spec.as_ref(), me, now)));
    }
    Step::Wait
}

/// Our Lease, given back.
pub(super) fn released(lease: &Lease) -> Lease {
    let mut lease = lease.clone();
    if let Some(spec) = &mut lease.spec {
        spec.holder_identity = Some(String::new());
    }
    lease
}

pub(super) fn holder(lease: &Lease) -> &str {
    let holder = lease.spec.as_ref().and_then(|it| it.holder_identity.as_deref());
    holder.unwrap_or_default()
}

fn taken(metadata: ObjectMeta, before: Option<&LeaseSpec>, me: &str, now: Timestamp) -> Lease {
    let is_mine = before.and_then(|it| it.holder_identity.as_deref()) == Some(me);
    let acquired = before.and_then(|it| it.acquire_time.clone()).filter(|_| is_mine);
    let transitions = before.and_then(|it| it.lease_transitions).unwrap_or_default();
    Lease {
        metadata,
        spec: Some(LeaseSpec {
            holder_identity: Some(me.to_owned()),
            lease_duration_seconds: i32::try_from(LASTS.as_secs()).ok(),
            acquire_time: acquired.or(Some(MicroTime(now))),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(transitions.saturating_add(i32::from(!is_mine))),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn lease(holder: &str) -> Lease {
        let before = LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            ..LeaseSpec::default()
        };
        taken(ObjectMeta::default(), Some(&before), holder, NOW)
    }

    #[test_case("", 0, true; "nobody has it")]
    #[test_case("me", 0, true; "we have it")]
    #[test_case("other", 14, false; "another has it")]
    #[test_case("other", 15, true; "another has let it run out")]
    fn a_lease_is_taken_when(holder: &str, unchanged: u64, takes: bool) {
        let step = decide(Some(&lease(holder)), "me", Duration::from_secs(unchanged), NOW);
        assert_eq!(matches!(step, Step::Replace(_)), takes, "{step:?}");
    }

    #[test]
    fn a_lease_that_is_not_there_is_made() {
        let Step::Create(made) = decide(None, "me", Duration::ZERO, NOW) else {
            panic!("not made");
        };
        assert_eq!(
            (super::holder(&made), made.metadata.name.as_deref()),
            ("me", Some(crate::reconcile::lease::NAME))
        );
    }

    #[test]
    fn a_change_of_hands_is_counted_and_a_renewal_is_not() {
        let transitions = |holder: &str| {
            let Step::Replace(lease) = decide(Some(&lease(holder)), "me", LASTS, NOW) else {
                panic!("not taken");
            };
            lease.spec.unwrap().lease_transitions
        };
        assert_eq!((transitions("me"), transitions("other")), (Some(0), Some(1)));
    }

    #[test]
    fn what_is_given_back_is_anybodys() {
        let step = decide(Some(&released(&lease("me"))), "other", Duration::ZERO, NOW);
        assert!(matches!(step, Step::Replace(_)), "{step:?}");
    }
}
