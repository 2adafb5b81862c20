//! The bootstrap token of an instance: one, made when it is claimed (or runs), gone when it is used or the instance is.
//!
//! A replica in the midst of a pass may make a token just after another has deleted it. So what is taken back is written down
//! before its name is forgotten, and deleted once more when every such pass has ended.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;

use super::pool::Key;
use super::status::Kind;
use super::{Action, Draft, elapsed};
use crate::config::TokenMode;
use crate::names::JOIN_FIELDS;
use crate::worker::{Claim, State, Token, Withdrawn};

/// An expired token is replaced as long as the claim is not older than this.
const CLAIM_HOLDS: Duration = Duration::from_hours(1);

/// How long a pass may take.
pub(crate) const PASS: Duration = Duration::from_mins(1);

/// When a token that was taken back is deleted once more: clocks may differ by as much as a pass may take.
const DELETED_AGAIN: Duration = PASS.saturating_mul(2);

/// The join Secret, without the token's secret half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) resource_version: String,
    pub(crate) token: Token,
}

impl Join {
    /// Reads a join Secret; `None` if it is not one that we wrote.
    pub(crate) fn of(secret: &Secret) -> Option<Self> {
        let [id, _, generation, expires] = JOIN_FIELDS.map(|field| {
            let value = secret.data.as_ref()?.get(field)?;
            String::from_utf8(value.0.clone()).ok()
        });
        Some(Self {
            resource_version: secret.metadata.resource_version.clone()?,
            token: Token {
                id: id?,
                generation: generation?.parse().ok()?,
                expires: expires?.parse().ok()?,
            },
        })
    }
}

/// Makes sure that a claimed instance with a key has a valid token of its generation, and nobody else one.
pub(super) fn issue(draft: &mut Draft<'_>, key: Option<&Key>) {
    let asked = asked(draft).filter(|_| key.is_some() && draft.hands_out() && draft.findings.joined.is_none());
    let Some(asked) = asked else {
        return withdraw(draft);
    };
    let generation = generation(draft.findings.generation, draft.status.claim.as_ref());
    let now = draft.case.now;
    let kept = draft.case.observed.join.as_ref();
    let is_withdrawn = |id: &str| draft.findings.withdrawn.iter().any(|it| it.id == id);
    let is_valid = |it: &Token| it.generation == generation && it.expires > now && !is_withdrawn(&it.id);
    let kept = kept.filter(|it| is_valid(&it.token));
    if let Some(token) = kept.map(|it| &it.token)
        && draft.findings.token.as_ref() == Some(token)
    {
        draft.look_again_in(elapsed(now, token.expires));
        return;
    }
    let replaces = kept.is_none() && draft.findings.generation == Some(generation);
    if replaces && elapsed(asked, now) > CLAIM_HOLDS {
        withdraw(draft);
        return draft.say(
            Kind::TokenIssued,
            false,
            "Expired",
            "the token expired unused, and nobody asked for another",
        );
    }
    start_over(draft, generation, kept.map(|it| it.token.id.as_str()));
    let token = match kept {
        Some(join) => join.token.clone(),
        None => write(draft, generation),
    };
    draft.act(Action::CreateToken { id: token.id.clone() });
    draft.look_again_in(elapsed(now, token.expires));
    let message = format!(
        "token `{}` of generation {generation} is valid until {}",
        token.id, token.expires
    );
    draft.say(Kind::TokenIssued, true, "Issued", message);
    draft.findings.token = Some(token);
}

/// Since when a token is asked for: by the claim, or by the announcement, if the node group has it made so early.
fn asked(draft: &Draft<'_>) -> Option<Timestamp> {
    if let Some(claim) = &draft.status.claim {
        return Some(claim.time);
    }
    let early = draft.group().is_some_and(|it| it.token == TokenMode::Running);
    let announced = draft.status.announced.as_ref();
    announced
        .filter(|it| early && it.state == State::Running)
        .map(|it| it.time)
}

/// The generation that the claim asks for.
fn generation(current: Option<u32>, claim: Option<&Claim>) -> u32 {
    match current {
        None => 1,
        Some(current) if claim.is_some_and(|it| it.reset == Some(current)) => current.saturating_add(1),
        Some(current) => current,
    }
}

/// Clears away what the generation before left: its token, and the Node that it did not bring to life.
///
/// The Node is deleted only after the Worker was found as it was seen. The new generation is shown later, together with
/// its token, so the Node cannot be one of it.
fn start_over(draft: &mut Draft<'_>, generation: u32, keep: Option<&str>) {
    let next = draft.findings.generation.is_some_and(|it| it != generation);
    revoke(draft, keep);
    let node = draft.findings.node.take_if(|_| next);
    if node.is_some() || draft.findings.withdrawn != draft.saved.withdrawn {
        draft.guard();
    }
    if let Some(node) = node {
        draft.act(Action::DeleteNode { uid: node.uid });
    }
    draft.findings.generation = Some(generation);
}

fn write(draft: &mut Draft<'_>, generation: u32) -> Token {
    let lifetime = draft.case.config.times.token;
    let whole_seconds = Timestamp::from_second(draft.case.now.as_second()).unwrap_or(draft.case.now);
    let token = Token {
        id: draft.case.token_id.to_owned(),
        generation,
        expires: whole_seconds + lifetime,
    };
    draft.act(Action::WriteJoin {
        id: token.id.clone(),
        generation,
        expires: token.expires,
        replaces: draft.case.observed.join.as_ref().map(|it| it.resource_version.clone()),
    });
    token
}

/// Takes back the token and the Secret that it was kept in.
pub(super) fn withdraw(draft: &mut Draft<'_>) {
    let issued = draft.findings.token.is_some() || draft.case.observed.join.is_some();
    revoke(draft, None);
    if issued {
        draft.say(Kind::TokenIssued, false, "Revoked", "the token is deleted");
    }
    if let Some(join) = &draft.case.observed.join {
        if draft.findings.withdrawn != draft.saved.withdrawn {
            draft.guard();
        }
        draft.act(Action::DeleteJoin {
            resource_version: join.resource_version.clone(),
        });
    }
}

/// Deletes what was taken back once more, when its time has come.
pub(super) fn delete_again(draft: &mut Draft<'_>) {
    let now = draft.case.now;
    for token in std::mem::take(&mut draft.findings.withdrawn) {
        let left = DELETED_AGAIN.saturating_sub(elapsed(token.time, now));
        if left.is_zero() {
            draft.act(Action::DeleteToken { id: token.id });
        } else {
            draft.look_again_in(left);
            draft.findings.withdrawn.push(token);
        }
    }
}

fn revoke(draft: &mut Draft<'_>, keep: Option<&str>) {
    let shown = draft.findings.token.take().map(|it| it.id);
    let kept = draft.case.observed.join.as_ref().map(|it| it.token.id.clone());
    let second = kept.filter(|it| shown.as_ref() != Some(it));
    for id in [shown, second].into_iter().flatten() {
        if Some(id.as_str()) == keep {
            continue;
        }
        draft.act(Action::DeleteToken { id: id.clone() });
        draft.look_again_in(DELETED_AGAIN);
        let time = draft.case.now;
        let withdrawn = &mut draft.findings.withdrawn;
        withdrawn.retain(|it| it.id != id);
        withdrawn.push(Withdrawn { id, time });
    }
}
