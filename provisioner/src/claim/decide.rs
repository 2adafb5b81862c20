//! What a claim is worth, given what is known of its instance.

mod change;
mod material;
#[cfg(test)]
pub(crate) mod tests;

use dynk8s_api::problem::Reason;
use jiff::{SignedDuration, Timestamp};

pub use change::Change;
pub use material::{Material, material, why_not};

use crate::config::{Config, Eligibility, Known, ProvenBy};
use crate::proof::decide::{fits_announcement, may_satisfy, satisfies};
use crate::proof::{Asked, Identity};
use crate::worker::{Announced, Attested, Claim, State, Wish, Worker, WorkerStatus};

/// A claim that is repeated after this long is dated anew, so that its token is replaced when it expires.
const RENEWED_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// A thief who tries again is noted again after this long: whatever he does, it is one write.
const NOTED_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What to do next. The question is asked again after everything but [`Step::Refuse`] and [`Step::Serve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask STS.
    Prove,
    /// Make the Worker.
    Create,
    /// Write this down.
    Record(Change),
    /// Hand out the material of this generation.
    Serve(u32),
    /// Refuse, in words.
    Refuse(Reason, String),
}

/// Decides. `worker` is what is there now, `proven` what STS said about this very claim, once it was asked.
pub fn decide(
    worker: Option<&Worker>,
    asked: &Asked,
    proven: Option<&Identity>,
    config: &Config,
    now: Timestamp,
) -> Step {
    let nothing = WorkerStatus::default();
    let status = worker.and_then(|it| it.status.as_ref()).unwrap_or(&nothing);
    let disputed = worker.is_some_and(Worker::is_disputed);
    let barred = bars(worker, disputed);
    let hearsay = worker
        .and_then(hearsay)
        .filter(|it| asked.may_be_of_another_account_than(&it.account));
    if let (Some((reason, text)), None) = (barred, hearsay) {
        return refuse(reason, text);
    }
    if let Err((reason, text)) = check_proof(status, asked, proven, config, now) {
        return refuse(reason, text);
    }
    if let (Some((reason, text)), Some(announced)) = (barred, hearsay) {
        let Some(identity) = proven else {
            return Step::Prove;
        };
        if is_of(announced, identity) {
            return refuse(reason, text);
        }
        if worker.is_some_and(|it| it.spec.wished == Wish::Gone) {
            return Step::Record(Change::Disputed(now));
        }
    }
    match &status.claim {
        Some(claim) => decide_bound(status, claim, asked, proven, now),
        None => decide_unbound(worker.is_some(), status, asked, proven, config, now),
    }
}

/// Why the instance gets nothing, from what was announced or wished.
fn bars(worker: Option<&Worker>, disputed: bool) -> Option<(Reason, &'static str)> {
    let worker = worker?;
    if worker.spec.wished == Wish::Gone {
        let status = worker.status.as_ref();
        let is_said = worker.spec.forced || status.is_some_and(|it| it.announced.is_some() || it.described.is_some());
        return Some(match (disputed, is_said) {
            (true, _) => (
                Reason::NotYet,
                "what another account said of the instance is being cleared away",
            ),
            (false, true) => (Reason::Gone, "the instance is gone"),
            (false, false) => (
                Reason::NotYet,
                "it is not written down yet who says that the instance is gone",
            ),
        });
    }
    let announced = worker.status.as_ref()?.announced.as_ref().filter(|_| !disputed)?;
    match announced.state {
        State::Terminated => Some((Reason::Gone, "AWS says that the instance is terminated")),
        State::Stopping | State::Stopped | State::ShuttingDown => {
            Some((Reason::NotYet, "AWS says that the instance is not running"))
        }
        State::Pending | State::Running => None,
    }
}

/// What was announced of an instance of which nothing else is known: that it is its announcer's, too, is only his word.
fn hearsay(worker: &Worker) -> Option<&Announced> {
    let status = worker.status.as_ref()?;
    let known = worker.spec.forced || status.attested.is_some() || status.described.is_some() || worker.is_disputed();
    status.announced.as_ref().filter(|_| !known)
}

fn is_of(announced: &Announced, identity: &Identity) -> bool {
    (&announced.account, &announced.region) == (&identity.account, &identity.region)
}

/// Whether the proof is one that the instance's node group accepts, and no older than one that was seen before.
fn check_proof(
    status: &WorkerStatus,
    asked: &Asked,
    proven: Option<&Identity>,
    config: &Config,
    now: Timestamp,
) -> Result<(), (Reason, &'static str)> {
    let recorded = status.attested.as_ref().and_then(|it| it.pending_time);
    if asked.document.as_ref().is_some_and(|it| Some(it.pending) < recorded) {
        return Err((
            Reason::NotProven,
            "the identity document is of an earlier start than one that was seen before",
        ));
    }
    let Some(identity) = proven else {
        return Ok(());
    };
    let satisfied = match eligibility(status, identity, config) {
        Eligibility::Of(group) => satisfies(group, identity, now),
        Eligibility::Undescribed => may_satisfy(config, identity, now),
        Eligibility::Foreign => return Err((Reason::NotEligible, "no node group takes the instance")),
    };
    satisfied.map_err(|text| (Reason::NotProven, text))
}

fn eligibility<'a>(status: &WorkerStatus, identity: &Identity, config: &'a Config) -> Eligibility<'a> {
    config.eligibility(&Known {
        account: &identity.account,
        region: &identity.region,
        by: ProvenBy::role(identity.role.as_deref()),
        described: status.described.as_ref(),
    })
}

/// The envelope proves who holds the claim key, so that its holder need not be proven again.
fn decide_bound(
    status: &WorkerStatus,
    claim: &Claim,
    asked: &Asked,
    proven: Option<&Identity>,
    now: Timestamp,
) -> Step {
    if status.contested.is_some() {
        return refuse(
            Reason::AnotherKey,
            "the instance was claimed with two keys, and one of them is a theft",
        );
    }
    let same = claim.key == asked.sender.to_string() && claim.kubelet_key == asked.kubelet_key();
    match (same, proven) {
        (false, None) => return Step::Prove,
        (false, Some(_)) if status.joined.is_none() => return Step::Record(Change::Contested(now)),
        (false, Some(_)) if status.rejected.is_none_or(|it| is_long_ago(it, now)) => {
            return Step::Record(Change::Rejected(now));
        }
        (false, Some(_)) => return refuse(Reason::AnotherKey, "the instance was claimed with another key before"),
        (true, _) if status.joined.is_some() => {
            return refuse(
                Reason::AlreadyJoined,
                "the node was Ready, and secrets are handed out only once",
            );
        }
        (true, _) => {}
    }
    let recorded = status.attested.as_ref().and_then(|it| it.pending_time);
    if let Some(document) = asked.document.as_ref().filter(|it| Some(it.pending) > recorded) {
        return Step::Record(Change::Restarted(document.pending));
    }
    if now.duration_since(claim.time) >= RENEWED_AFTER {
        return Step::Record(Change::Renewed(now));
    }
    serve(status, claim, asked.request.reset)
}

/// Of a time that is yet to come the clock was set back since.
fn is_long_ago(rejected: Timestamp, now: Timestamp) -> bool {
    now.duration_since(rejected).abs() >= NOTED_AFTER
}

/// The generation that the agent is to have: the current one, or the next if it was reset.
fn serve(status: &WorkerStatus, claim: &Claim, reset: Option<u32>) -> Step {
    let current = status.generation.unwrap_or(1);
    if let Some(reset) = reset {
        let given = status.generation.is_some() && (1..=current).contains(&reset);
        if !given {
            return refuse(
                Reason::Malformed,
                "`reset` names a generation that was never handed out",
            );
        }
        if reset == current && claim.reset != Some(reset) {
            return Step::Record(Change::Reset(reset));
        }
    }
    let after_reset = claim.reset.map_or(1, |it| it.saturating_add(1));
    Step::Serve(current.max(after_reset))
}

fn decide_unbound(
    exists: bool,
    status: &WorkerStatus,
    asked: &Asked,
    proven: Option<&Identity>,
    config: &Config,
    now: Timestamp,
) -> Step {
    if asked.request.reset.is_some() {
        return refuse(
            Reason::Malformed,
            "`reset` names a generation, but nothing was handed out yet",
        );
    }
    let unannounced = status.announced.is_none();
    let waits = |since: Timestamp| {
        let recent = now.duration_since(since).unsigned_abs() < config.times.announcement;
        unannounced && (recent || config.sns.require_announcement)
    };
    if status.attested.as_ref().is_some_and(|it| waits(it.time)) {
        return refuse(Reason::NotAnnounced, "AWS has not announced the instance yet");
    }
    let attested = status.attested.as_ref().and_then(|_| Known::of(status));
    if attested.is_some_and(|it| matches!(config.eligibility(&it), Eligibility::Undescribed)) {
        return refuse(
            Reason::NotYet,
            "EC2 has not told yet which node group takes the instance",
        );
    }
    let Some(identity) = proven else {
        return Step::Prove;
    };
    let undescribed = matches!(eligibility(status, identity, config), Eligibility::Undescribed);
    let attested = Attested {
        account: identity.account.clone(),
        region: identity.region.clone(),
        role: identity.role.clone(),
        pending_time: identity.pending,
        time: status.attested.as_ref().map_or(now, |it| it.time),
    };
    let announced = status.announced.as_ref();
    if announced.is_some_and(|it| !is_of(it, identity)) {
        return Step::Record(Change::Disowned(attested));
    }
    if let (Some(announced), Some(pending)) = (announced, identity.pending)
        && let Err((reason, text)) = fits_announcement(announced, pending)
    {
        return refuse(reason, text);
    }
    if let Some(skew) = &asked.skew {
        return refuse(Reason::NotEligible, skew);
    }
    if !exists {
        return Step::Create;
    }
    if waits(attested.time) || undescribed {
        return Step::Record(Change::Attested(attested));
    }
    let claim = Claim {
        key: asked.sender.to_string(),
        kubelet_key: asked.kubelet_key(),
        kubelet_version: asked.request.kubelet_version.clone(),
        reset: None,
        time: now,
    };
    Step::Record(Change::Bound(attested, claim))
}

fn refuse(reason: Reason, text: &str) -> Step {
    Step::Refuse(reason, text.to_owned())
}
