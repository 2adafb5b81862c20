//! What reconcile writes into a Worker's status, and the words for it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Serialize;

use super::Draft;
use crate::worker::{Node, Phase, State, Token, Wish, Withdrawn, WorkerStatus};

/// Exactly the fields that reconcile writes. As a merge patch it is whole: what is absent is written as null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Findings {
    pub(crate) phase: Option<Phase>,
    pub(crate) generation: Option<u32>,
    pub(crate) key: Option<String>,
    pub(crate) key_fingerprint: Option<String>,
    pub(crate) inherited: bool,
    pub(crate) token: Option<Token>,
    pub(crate) withdrawn: Vec<Withdrawn>,
    pub(crate) node: Option<Node>,
    pub(crate) joined: Option<Timestamp>,
    pub(crate) released: Option<Timestamp>,
    pub(crate) buried: Option<Timestamp>,
    pub(crate) conditions: Vec<Condition>,
}

/// The kinds of conditions, in the order in which they come true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Announced,
    Claimed,
    KeyAssigned,
    TokenIssued,
    CertificateApproved,
    ServingCertificateApproved,
    Joined,
    Connected,
    Admitted,
    Rejected,
    Released,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Announced => "Announced",
            Self::Claimed => "Claimed",
            Self::KeyAssigned => "KeyAssigned",
            Self::TokenIssued => "TokenIssued",
            Self::CertificateApproved => "CertificateApproved",
            Self::ServingCertificateApproved => "ServingCertificateApproved",
            Self::Joined => "Joined",
            Self::Connected => "Connected",
            Self::Admitted => "Admitted",
            Self::Rejected => "Rejected",
            Self::Released => "Released",
        }
    }
}

impl Findings {
    pub(crate) fn of(status: &WorkerStatus) -> Self {
        Self {
            phase: status.phase,
            generation: status.generation,
            key: status.key.clone(),
            key_fingerprint: status.key_fingerprint.clone(),
            inherited: status.inherited,
            token: status.token.clone(),
            withdrawn: status.withdrawn.clone(),
            node: status.node.clone(),
            joined: status.joined,
            released: status.released,
            buried: status.buried,
            conditions: status.conditions.clone(),
        }
    }
}

impl Draft<'_> {
    /// Sets a condition; its time changes only with its status.
    pub(super) fn say(&mut self, kind: Kind, holds: bool, reason: &str, message: impl Into<String>) {
        let before = self.findings.conditions.iter().find(|it| it.type_ == kind.name());
        let since = before
            .filter(|it| it.status == status(holds))
            .map_or(self.case.now, |it| it.last_transition_time.0);
        self.say_since(since, kind, holds, reason, message);
    }

    fn say_since(&mut self, since: Timestamp, kind: Kind, holds: bool, reason: &str, message: impl Into<String>) {
        let condition = Condition {
            type_: kind.name().to_owned(),
            status: status(holds).to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            last_transition_time: Time(since),
            observed_generation: None,
        };
        let conditions = &mut self.findings.conditions;
        match conditions.iter_mut().find(|it| it.type_ == kind.name()) {
            Some(before) => *before = condition,
            None => conditions.push(condition),
        }
    }
}

/// Says in conditions what `serve` has recorded.
pub(super) fn acknowledge(draft: &mut Draft<'_>) {
    let status = draft.status;
    match &status.announced {
        Some(_) if draft.case.worker.is_disputed() => {
            let message =
                "two accounts announce the instance as their own, so one of them lies; it is whose it proves to be";
            draft.say(Kind::Announced, true, "Disputed", message);
        }
        Some(it) => {
            let message = format!(
                "EC2 says `{}` of an instance of account {}, {}",
                it.state, it.account, it.region
            );
            draft.say(Kind::Announced, true, reason(it.state), message);
        }
        None => draft.say(
            Kind::Announced,
            false,
            "NotHeardOf",
            "SNS has not announced the instance",
        ),
    }
    match (&status.claim, draft.failed()) {
        (_, true) => draft.say(
            Kind::Claimed,
            false,
            "Contested",
            "two claims with different keys were proven before the join, so one of them is a theft: everything handed out \
             is revoked and the key is in quarantine; terminate the instance and replace the key's WireGuard peer",
        ),
        (Some(claim), false) => {
            let message = format!("the instance proved itself; its kubelet is {}", claim.kubelet_version);
            draft.say(Kind::Claimed, true, "Proven", message);
        }
        (None, false) => draft.say(Kind::Claimed, false, "NotClaimed", "the instance has not proven itself"),
    }
    if let Some(time) = status.rejected {
        let message = "somebody else proved to be this instance after it had joined, and got nothing; find out who can read its \
                       metadata and what it proves itself with";
        draft.say_since(time, Kind::Rejected, true, "AnotherKey", message);
    }
}

/// As conditions write it.
fn status(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

/// EC2's word as the reason of a condition.
fn reason(state: State) -> &'static str {
    match state {
        State::Pending => "Pending",
        State::Running => "Running",
        State::Stopping => "Stopping",
        State::Stopped => "Stopped",
        State::ShuttingDown => "ShuttingDown",
        State::Terminated => "Terminated",
    }
}

/// Where the instance stands, from what is found out so far.
pub(super) fn phase(draft: &Draft<'_>) -> Phase {
    let findings = &draft.findings;
    if draft.case.worker.spec.wished == Wish::Gone {
        return match findings.buried {
            Some(_) => Phase::Gone,
            None if draft.suspect => Phase::Suspect,
            None => Phase::Releasing,
        };
    }
    if draft.failed() {
        return Phase::Failed;
    }
    if draft.stopped() {
        return Phase::Stopped;
    }
    if draft.suspect {
        return Phase::Suspect;
    }
    if findings.joined.is_some() {
        let ready = findings.node.as_ref().is_some_and(|it| it.ready);
        return if ready { Phase::Ready } else { Phase::NotReady };
    }
    match (&draft.status.claim, &findings.token) {
        (Some(_), Some(_)) => Phase::Joining,
        (Some(_), None) => Phase::Waiting,
        (None, _) => Phase::Announced,
    }
}
