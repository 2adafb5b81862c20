//! The agent's own word on why it failed, and on what does not work around its node, said where an operator looks. Nothing is
//! decided by it.

use super::Draft;
use super::status::Kind;

/// The longest word of an agent that is told, in characters: an Event's note holds 1024 bytes.
const LONGEST: usize = 700;

/// Tells whether a node that has joined reaches what its pods need, if the agent has told us.
pub(super) fn connect(draft: &mut Draft<'_>) {
    let journey = draft.status.journey.as_ref();
    let found = journey.and_then(|it| it.impaired.as_deref());
    let (Some(found), Some(_)) = (found, draft.findings.joined) else {
        return;
    };
    if found.is_empty() {
        let message =
            "all works that the agent could look at from its node: the API servers, cluster DNS, the pods' MTU";
        draft.say(Kind::Connected, true, "Sound", message);
    } else {
        let found: String = found.join("; ").chars().take(LONGEST).collect();
        draft.say(Kind::Connected, false, "Impaired", found);
    }
}

/// Tells why there is no Node, if the agent has told us.
pub(super) fn explain(draft: &mut Draft<'_>) {
    let absent = draft.findings.joined.is_none() && draft.findings.node.is_none();
    let Some(journey) = draft
        .status
        .journey
        .as_ref()
        .filter(|it| absent && it.outcome == "failed")
    else {
        return;
    };
    let step = journey.steps.iter().rfind(|it| it.error.is_some());
    let step = step.map_or_else(String::new, |it| format!(" in step `{}`", it.name));
    let error = journey.error.as_deref().unwrap_or("it did not say why");
    let error: String = error.chars().take(LONGEST).collect();
    draft.say(
        Kind::Joined,
        false,
        "JoinFailed",
        format!("the agent failed{step}: {error}"),
    );
}
