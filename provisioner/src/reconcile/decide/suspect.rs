//! Doubt: an instance is said to be gone while its kubelet lives, or nothing has been heard of it for long.
//!
//! An event may be forged, and silence proves nothing: a partitioned node still holds its key. So nothing is taken back until
//! the Lease has not changed for long, EC2 says so, or an operator.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

use super::pool::Key;
use super::status::Kind;
use super::{Draft, Observed, elapsed, node, pulse};
use crate::worker::{State, Wish, Worker};

/// After so long without a Ready Node an instance that has a key may be gone.
const SILENCE: Duration = Duration::from_hours(1);

/// Whether the decision depends on the Node's Lease, or soon will; to read it costs a call. Whoever shuts down is watched, so that
/// it is known in time that he is gone.
pub(crate) fn asks_for_lease(worker: &Worker, observed: &Observed) -> bool {
    let Some(node) = &observed.node else { return false };
    let name = worker.metadata.name.as_deref().unwrap_or_default();
    let status = worker.status.as_ref();
    let announced = status.and_then(|it| it.announced.as_ref());
    let ends = announced.is_some_and(|it| it.state == State::ShuttingDown);
    (worker.spec.wished == Wish::Gone || ends) && !is_certain(worker) && node::summary(node, name).is_some()
}

/// Whether the instance is gone whatever its Lease says, or its release has begun.
fn is_certain(worker: &Worker) -> bool {
    let status = worker.status.as_ref();
    let terminated = status
        .and_then(|it| it.described.as_ref())
        .is_some_and(|it| it.state == State::Terminated);
    worker.spec.forced || terminated || status.is_some_and(|it| it.released.is_some())
}

/// Whether an instance that is said to be gone lives, or may, for it has not been looked at for long enough.
pub(super) fn lives(draft: &mut Draft<'_>) -> bool {
    let Some(pulse) = draft.case.observed.pulse.filter(|_| !is_certain(draft.case.worker)) else {
        return false;
    };
    let left = pulse.lasts();
    if left.is_zero() {
        return false;
    }
    draft.look_again_in(left);
    draft.suspect = pulse.beats;
    let kept = format!(
        "everything is kept until that has ended for {} s, or until `workers release` says that it is gone",
        pulse::HOLDS.as_secs()
    );
    let (reason, seen) = if pulse.beats {
        ("Suspect", "but its kubelet renews its Lease")
    } else {
        (
            "Listening",
            "and it is being watched whether its kubelet renews its Lease",
        )
    };
    draft.say(
        Kind::Released,
        false,
        reason,
        format!("the instance is said to be gone, {seen}: {kept}"),
    );
    true
}

/// Whether all that is known of the instance is that a key was its own before this Worker was made, as when somebody deleted the one
/// before, and what was announced since. Of several accounts nobody can tell then which may end it, and the key may be in use.
pub(super) fn is_unfounded(draft: &mut Draft<'_>) -> bool {
    let own = draft.findings.key.is_some() && !draft.findings.inherited;
    let known = own || draft.status.attested.is_some() || draft.status.described.is_some();
    let Some(key) = draft.case.observed.keys.held.first() else {
        return false;
    };
    if known || draft.case.config.has_one_account() || is_certain(draft.case.worker) {
        return false;
    }
    draft.suspect = true;
    let message = format!(
        "the instance is said to be gone by an account that may not be its own, and had the key `{}` before this Worker was made: \
         it is kept. If the instance is gone, say `workers release {}`; if it lives, delete this Worker, and it is adopted",
        key.name, draft.case.instance
    );
    draft.say(Kind::Released, false, "Suspect", message);
    true
}

/// Tells that an instance which has a key has not been heard of for long.
pub(super) fn is_silent(draft: &mut Draft<'_>, key: Option<&Key>) {
    let described = draft.status.described.as_ref().map(|it| it.state);
    let known_to_run = matches!(described, Some(State::Pending | State::Running));
    if key.is_none() || known_to_run || draft.failed() || draft.stopped() {
        return;
    }
    let Some(since) = silent_since(draft) else { return };
    let left = SILENCE.saturating_sub(elapsed(since, draft.case.now));
    if !left.is_zero() {
        return draft.look_again_in(left);
    }
    draft.suspect = true;
    let has_node = draft.findings.joined.is_some() && draft.findings.node.is_some();
    let message = format!(
        "nothing was heard of the instance since {since:.0}; it keeps its key, for it may be cut off: if it is gone, say \
         `workers release {}`",
        draft.case.instance
    );
    draft.say(Kind::Joined, has_node, "Suspect", message);
}

/// Since when there has been no Ready Node; `None` if there is one.
fn silent_since(draft: &Draft<'_>) -> Option<Timestamp> {
    let since = |kind: &str| {
        let condition = draft.findings.conditions.iter().find(|it| it.type_ == kind);
        condition.map(|it| it.last_transition_time.0)
    };
    match (&draft.findings.joined, &draft.findings.node) {
        (Some(_), Some(node)) if node.ready => None,
        (Some(_), Some(_)) => draft.case.observed.node.as_ref().and_then(not_ready_since),
        (Some(_), None) => since("Joined"),
        (None, _) => since("KeyAssigned"),
    }
}

fn not_ready_since(node: &Node) -> Option<Timestamp> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|it| it.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|it| it.0)
}
