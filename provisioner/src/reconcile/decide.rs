//! What is done about one Worker next: pure functions of what is seen, of the configuration and of the time.
//!
//! Nothing is remembered between two passes. The actions are carried out in order, and a pass that ends after any of them
//! is mended by the next one: what is handed out is written down before, what is taken back is forgotten after. What is
//! seen may be old, so whatever must not happen twice is guarded by a resource version or a UID.

mod certificate;
mod journey;
mod key;
mod look;
mod node;
mod orphan;
mod pool;
mod pulse;
mod release;
mod settled;
mod status;
mod stray;
mod suspect;
#[cfg(test)]
mod tests;
mod token;
mod turn;

use std::collections::BTreeMap;
use std::time::Duration;

use dynk8s_api::InstanceId;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Taint};

use crate::config::{Config, Known, NodeGroup};
use crate::worker::{State, Wish, Worker, WorkerStatus};

pub(crate) use certificate::{Purpose, instance_of};
pub(crate) use look::{Looking, Seen, Sight, Target};
pub(crate) use orphan::{Orphan, orphans};
pub(crate) use pool::{Documents, Keys, shown_addresses};
pub(crate) use pulse::{Pulse, Pulses};
pub(crate) use settled::{Agreement, agreement};
pub(crate) use status::Findings;
pub(crate) use stray::stray;
pub(crate) use suspect::asks_for_lease;
pub(crate) use token::{Join, PASS};
pub(crate) use turn::{Turn, Weight, reached, turns};

/// A Worker is looked at again after this long, whatever happens.
const AT_LEAST_EVERY: Duration = Duration::from_secs(30);

/// What the cluster shows of one instance.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) keys: Keys,
    /// Labels and Workers contradict each other, and EC2 has not been asked yet who is right: no key is given away.
    pub(crate) unsettled: bool,
    pub(crate) join: Option<Join>,
    /// The Node of the instance's name.
    pub(crate) node: Option<Node>,
    /// Whether the Node's Lease is renewed, if that was asked for.
    pub(crate) pulse: Option<Pulse>,
    /// Undecided requests for a kubelet's certificate of the instance's name.
    pub(crate) requests: Vec<CertificateSigningRequest>,
    /// What looks at its kubelet have shown.
    pub(crate) seen: Option<Seen>,
}

/// One call to the API server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Writes our part of the Worker's status, if the Worker is still as it was seen or last saved.
    Save(Box<Findings>),
    /// Gives a free key to the instance.
    LabelKey { name: String, resource_version: String },
    /// Makes sure that a key that was chosen is another's by now: reads it afresh, changes nothing.
    GiveUpKey { name: String },
    /// Takes a key out of use.
    Quarantine { name: String, resource_version: String },
    /// Takes a key back.
    FreeKey { name: String, resource_version: String },
    /// Draws a token and keeps it in our namespace; `replaces` is the resource version of the one before.
    WriteJoin {
        id: String,
        generation: u32,
        expires: Timestamp,
        replaces: Option<String>,
    },
    /// Makes the token of the join Secret valid.
    CreateToken { id: String },
    /// Makes a token invalid.
    DeleteToken { id: String },
    /// Deletes the join Secret, if it is as it was seen.
    DeleteJoin { resource_version: String },
    /// Approves a certificate request.
    Approve {
        name: String,
        resource_version: String,
        purpose: Purpose,
    },
    /// Sets labels of the Node and, if given, all its taints.
    PatchNode {
        resource_version: String,
        labels: BTreeMap<String, String>,
        taints: Option<Vec<Taint>>,
    },
    /// Deletes this very Node.
    DeleteNode { uid: String },
    /// Removes the tombstone, if it is still as it was seen.
    DeleteWorker,
}

/// What comes next, and when to look again.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) looking: Looking,
    pub(crate) again: Duration,
}

/// All that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) instance: &'a InstanceId,
    pub(crate) worker: &'a Worker,
    pub(crate) observed: &'a Observed,
    pub(crate) config: &'a Config,
    pub(crate) now: Timestamp,
    /// Six random characters of `[0-9a-z]`, should a token be needed.
    pub(crate) token_id: &'a str,
}

/// A plan in the making.
#[derive(Debug)]
struct Draft<'a> {
    case: Case<'a>,
    status: &'a WorkerStatus,
    findings: Findings,
    saved: Findings,
    /// Whether the instance may be gone, or may be there although it is said to be gone.
    suspect: bool,
    actions: Vec<Action>,
    looking: Looking,
    again: Duration,
}

/// Decides.
pub(crate) fn decide(case: Case<'_>) -> Plan {
    let unknown = WorkerStatus::default();
    let status = case.worker.status.as_ref().unwrap_or(&unknown);
    let mut draft = Draft {
        case,
        status,
        findings: Findings::of(status),
        saved: Findings::of(status),
        suspect: false,
        actions: Vec::new(),
        looking: Looking::default(),
        again: AT_LEAST_EVERY,
    };
    token::delete_again(&mut draft);
    match case.worker.spec.wished {
        Wish::Gone if suspect::lives(&mut draft) || suspect::is_unfounded(&mut draft) => {}
        Wish::Gone => release::release(&mut draft),
        Wish::Running => {
            status::acknowledge(&mut draft);
            let key = key::assign(&mut draft);
            node::look(&mut draft, key.as_ref());
            journey::explain(&mut draft);
            journey::connect(&mut draft);
            token::issue(&mut draft, key.as_ref());
            certificate::approve(&mut draft, key.as_ref());
            suspect::is_silent(&mut draft, key.as_ref());
        }
    }
    draft.finish()
}

impl Draft<'_> {
    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn look_again_in(&mut self, wait: Duration) {
        self.again = self.again.min(wait);
    }

    /// Writes the findings down now, even if they are unchanged: it succeeds only if the Worker is as it was seen.
    fn guard(&mut self) {
        self.findings.phase = Some(status::phase(self));
        self.saved = self.findings.clone();
        self.act(Action::Save(Box::new(self.saved.clone())));
    }

    /// The group that the instance is known to belong to.
    fn group(&self) -> Option<&NodeGroup> {
        self.case.config.eligibility(&Known::of(self.status)?).group()
    }

    /// Two claims contradict each other, and none of them has led to a node.
    fn failed(&self) -> bool {
        self.status.contested.is_some() && self.findings.joined.is_none()
    }

    fn stopped(&self) -> bool {
        self.status
            .announced
            .as_ref()
            .is_some_and(|it| !matches!(it.state, State::Pending | State::Running))
    }

    /// Whether anything may be given to the instance at all.
    fn hands_out(&self) -> bool {
        !self.failed() && !self.stopped() && self.group().is_some()
    }

    fn finish(mut self) -> Plan {
        self.findings.phase = Some(status::phase(&self));
        if self.findings != self.saved {
            self.guard();
        }
        Plan {
            actions: self.actions,
            looking: self.looking,
            again: self.again,
        }
    }
}

fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}
