//! Refusals: `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
//!
//! They travel outside the envelope, so whoever ends TLS can forge one. He could as well drop the request: a refusal
//! carries nothing that an agent trusts beyond when to ask again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The media type of a refusal.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What the caller shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Ask again, after `Retry-After` if it is given.
    TryAgain,
    /// Ask again, slowly: somebody has to do something first.
    WaitForOperator,
    /// Never ask again with this machine as it is.
    GiveUp,
}

/// Why a call was refused. The text form is part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No answer yet, or no capacity for one now.
    NotYet,
    /// AWS has not announced this instance yet.
    NotAnnounced,
    /// The API server or STS could not be asked.
    Unavailable,
    /// Too many requests at once.
    Busy,
    /// Every WireGuard key is taken.
    PoolEmpty,
    /// No node group wants this instance.
    NotEligible,
    /// The body is no envelope, or its content is not of the agreed form.
    Malformed,
    /// The envelope or a proof in it did not hold.
    NotProven,
    /// The instance was claimed before, with another key.
    AnotherKey,
    /// The instance is gone, or on its way.
    Gone,
    /// The node is Ready: secrets are not handed out again.
    AlreadyJoined,
}

impl Reason {
    const ALL: [Self; 11] = [
        Self::NotYet,
        Self::NotAnnounced,
        Self::Unavailable,
        Self::Busy,
        Self::PoolEmpty,
        Self::NotEligible,
        Self::Malformed,
        Self::NotProven,
        Self::AnotherKey,
        Self::Gone,
        Self::AlreadyJoined,
    ];

    /// What the caller shall do about it.
    pub fn kind(self) -> Kind {
        match self {
            Self::NotYet | Self::NotAnnounced | Self::Unavailable | Self::Busy => Kind::TryAgain,
            Self::PoolEmpty | Self::NotEligible => Kind::WaitForOperator,
            Self::Malformed | Self::NotProven | Self::AnotherKey | Self::Gone | Self::AlreadyJoined => Kind::GiveUp,
        }
    }

    /// The HTTP status that goes with it.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::NotProven | Self::NotEligible => 403,
            Self::AnotherKey | Self::AlreadyJoined => 409,
            Self::Gone => 410,
            Self::NotYet | Self::NotAnnounced | Self::Unavailable | Self::Busy | Self::PoolEmpty => 503,
        }
    }

    /// Its name on the wire.
    pub fn slug(self) -> &'static str {
        match self {
            Self::NotYet => "not-yet",
            Self::NotAnnounced => "not-announced",
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::PoolEmpty => "pool-empty",
            Self::NotEligible => "not-eligible",
            Self::Malformed => "malformed",
            Self::NotProven => "not-proven",
            Self::AnotherKey => "another-key",
            Self::Gone => "gone",
            Self::AlreadyJoined => "already-joined",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

impl Kind {
    fn slug(self) -> &'static str {
        match self {
            Self::TryAgain => "try-again",
            Self::WaitForOperator => "wait-for-operator",
            Self::GiveUp => "give-up",
        }
    }
}

/// A refusal on the wire. `type` is `urn:dynk8s:<kind>:<reason>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// `urn:dynk8s:<kind>:<reason>`
    #[serde(rename = "type")]
    pub type_uri: String,
    /// One sentence for a person.
    pub title: String,
    /// The HTTP status again.
    pub status: u16,
}

impl Problem {
    /// A refusal for this reason.
    pub fn new(reason: Reason, title: impl Into<String>) -> Self {
        let type_uri = format!("urn:dynk8s:{}:{reason}", reason.kind().slug());
        Self {
            type_uri,
            title: title.into(),
            status: reason.status(),
        }
    }

    /// What the caller shall do; `None` if the type is not one of this protocol's.
    ///
    /// The kind stands in the type itself, so an old agent obeys a reason that it has never heard of.
    pub fn kind(&self) -> Option<Kind> {
        let (kind, _) = self.type_uri.strip_prefix("urn:dynk8s:")?.split_once(':')?;
        [Kind::TryAgain, Kind::WaitForOperator, Kind::GiveUp]
            .into_iter()
            .find(|it| it.slug() == kind)
    }

    /// Why, if this release knows the reason.
    pub fn reason(&self) -> Option<Reason> {
        let (_, reason) = self.type_uri.rsplit_once(':')?;
        Reason::ALL.into_iter().find(|it| it.slug() == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Problem, Reason};

    #[test]
    fn every_reason_survives_the_wire() {
        for reason in Reason::ALL {
            let text = serde_json::to_string(&Problem::new(reason, "why")).unwrap();
            let problem: Problem = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (problem.kind(), problem.reason()),
                (Some(reason.kind()), Some(reason)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_reason_of_a_later_release_keeps_its_kind() {
        let problem: Problem =
            serde_json::from_str(r#"{"type":"urn:dynk8s:give-up:solar-flare","title":"t","status":403}"#).unwrap();
        assert_eq!((problem.kind(), problem.reason()), (Some(Kind::GiveUp), None));
    }

    #[test]
    fn a_foreign_type_has_no_kind() {
        let problem: Problem = serde_json::from_str(r#"{"type":"about:blank","title":"t","status":500}"#).unwrap();
        assert_eq!(problem.kind(), None);
    }
}
