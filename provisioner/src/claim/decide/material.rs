//! When what was promised to a claim is there to be handed out, and what to say if it is not.

use dynk8s_api::problem::Reason;
use jiff::Timestamp;

use super::Asked;
use crate::refusal::Refusal;
use crate::worker::{Wish, Worker};

/// What there is for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// The name of the key Secret, and the public half of the token.
    There { key: String, token: String },
    /// There will be nothing.
    Refused(Reason, String),
}

/// Whether the Worker has what this claim shall get; `None` if that may still come.
pub fn material(worker: Option<&Worker>, asked: &Asked, generation: u32, now: Timestamp) -> Option<Material> {
    let worker = worker?;
    let status = worker.status.as_ref()?;
    let claim = status.claim.as_ref()?;
    let refused = |reason, text: &str| Some(Material::Refused(reason, text.to_owned()));
    if worker.spec.wished == Wish::Gone {
        return refused(Reason::Gone, "the instance is gone");
    }
    if status.contested.is_some() || claim.key != asked.sender.to_string() {
        return refused(Reason::AnotherKey, "the instance was claimed with another key");
    }
    if status.joined.is_some() {
        return refused(
            Reason::AlreadyJoined,
            "the node was Ready, and secrets are handed out only once",
        );
    }
    let key = status.key.clone()?;
    let token = status.token.as_ref()?;
    let valid = token.generation == generation && token.expires > now;
    valid.then(|| Material::There {
        key,
        token: token.id.clone(),
    })
}

/// What an agent is told when its time is up. How many keys there are is not its business.
pub fn why_not(worker: Option<&Worker>) -> Refusal {
    let conditions = worker
        .and_then(|it| it.status.as_ref())
        .map_or(&[][..], |it| &it.conditions);
    let assigned = conditions.iter().find(|it| it.type_ == "KeyAssigned");
    match assigned {
        Some(condition) if condition.reason == "PoolEmpty" && condition.status != "True" => {
            Refusal::new(Reason::PoolEmpty, "every WireGuard key is taken").because(&condition.message)
        }
        _ => Refusal::new(Reason::NotYet, "what the node needs is being prepared"),
    }
}
