//! Taking back what a gone instance had, in an order that forgets nothing: token, Node, rest, key, tombstone.

use std::time::Duration;

use super::status::Kind;
use super::{Action, Draft, elapsed, key, node, token};

/// Goes on with the release from wherever it stands.
pub(super) fn release(draft: &mut Draft<'_>) {
    token::withdraw(draft);
    remove_node(draft);
    if draft.failed() {
        key::quarantine(draft);
    }
    let now = draft.case.now;
    // A time that is yet to come was written when the clock was wrong.
    let released = draft.findings.released.filter(|it| *it <= now).unwrap_or(now);
    draft.findings.released = Some(released);
    let cooldown = draft.case.config.times.key_cooldown;
    let resting = cooldown.saturating_sub(elapsed(released, now));
    let had_key = draft.findings.key.is_some() || !draft.case.observed.keys.held.is_empty();
    if had_key && !resting.is_zero() {
        draft.look_again_in(resting);
        return draft.say(
            Kind::Released,
            false,
            "CoolingDown",
            format!("the key rests for {cooldown:?}"),
        );
    }
    if free_keys(draft) {
        bury(draft);
    }
}

/// Deletes the Node if it is the instance's; a stranger of the same name is left alone.
fn remove_node(draft: &mut Draft<'_>) {
    let node = draft.case.observed.node.as_ref();
    if let Some(ours) = node.and_then(|it| node::summary(it, draft.case.instance.as_str())) {
        draft.act(Action::DeleteNode { uid: ours.uid });
    }
    draft.findings.node = None;
}

/// Frees every key of the instance that no Node shows; whether that were all.
fn free_keys(draft: &mut Draft<'_>) -> bool {
    if draft.failed() {
        return true;
    }
    let held = &draft.case.observed.keys.held;
    for key in held.iter().filter(|it| it.shown_by.is_empty()) {
        draft.act(Action::FreeKey {
            name: key.name.clone(),
            resource_version: key.resource_version.clone(),
        });
    }
    let Some((key, node)) = held.iter().find_map(|it| it.shown_by.first().map(|node| (it, node))) else {
        draft.findings.key = None;
        draft.findings.key_fingerprint = None;
        return true;
    };
    let message = format!(
        "the key `{}` is kept, for the Node `{node}` shows its address",
        key.name
    );
    draft.say(Kind::Released, false, "AddressInUse", message);
    false
}

fn bury(draft: &mut Draft<'_>) {
    let now = draft.case.now;
    let buried = draft.findings.buried.filter(|it| *it <= now).unwrap_or(now);
    draft.findings.buried = Some(buried);
    draft.say(
        Kind::Released,
        true,
        "Released",
        "nothing of the instance is left; this is its tombstone",
    );
    // Another account says that the instance is its own: it begins afresh.
    let stays = if draft.case.worker.is_disputed() {
        Duration::ZERO
    } else {
        draft.case.config.times.tombstone
    };
    let remaining = stays.saturating_sub(elapsed(buried, now));
    draft.look_again_in(remaining);
    if remaining.is_zero() && draft.actions.is_empty() && draft.findings.withdrawn.is_empty() {
        draft.act(Action::DeleteWorker);
    }
}
