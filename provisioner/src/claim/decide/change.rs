//! What a claim writes down.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::worker::{Attested, Claim};

/// A change of a Worker's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The instance proved itself, but it has to be announced first.
    Attested(Attested),
    /// The instance proved itself to be of another account than the one that announced it, whose word is forgotten.
    Disowned(Attested),
    /// The instance proved itself to be of another account than the one that announced its end.
    Disputed(Timestamp),
    /// The instance proved itself: from now on the claim binds.
    Bound(Attested, Claim),
    /// The machine was reset after a failed join of this generation.
    Reset(u32),
    /// The instance was stopped and started since.
    Restarted(Timestamp),
    /// The same claim was made again.
    Renewed(Timestamp),
    /// Somebody with another key proved to be the same instance.
    Contested(Timestamp),
    /// The same, after the join.
    Rejected(Timestamp),
}

impl Change {
    /// In one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Attested(_) => "attested",
            Self::Disowned(_) => "disowned",
            Self::Disputed(_) => "disputed",
            Self::Bound(..) => "bound",
            Self::Reset(_) => "reset",
            Self::Restarted(_) => "restarted",
            Self::Renewed(_) => "renewed",
            Self::Contested(_) => "contested",
            Self::Rejected(_) => "rejected",
        }
    }

    /// The fields to be merged into the status.
    pub fn patch(&self) -> Value {
        match self {
            Self::Attested(attested) => json!({ "attested": attested }),
            Self::Disowned(attested) => json!({ "attested": attested, "announced": null, "disputed": null }),
            Self::Disputed(time) => json!({ "disputed": time }),
            Self::Bound(attested, claim) => json!({ "attested": attested, "claim": claim }),
            Self::Reset(generation) => json!({ "claim": { "reset": generation } }),
            Self::Restarted(pending) => json!({ "attested": { "pendingTime": pending } }),
            Self::Renewed(time) => json!({ "claim": { "time": time } }),
            Self::Contested(time) => json!({ "contested": time }),
            Self::Rejected(time) => json!({ "rejected": time }),
        }
    }
}
