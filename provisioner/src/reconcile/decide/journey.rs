//! The agent's own word on why it failed, said where an operator looks. Nothing is decided by it.

use super::Draft;
use super::status::Kind;

/// The longest word of an agent that is told, in characters: an Event's note holds 1024 bytes.
const LONGEST: usize = 700;

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
