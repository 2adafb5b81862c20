//! The Worker: everything that is known of one instance. It holds no secret.
//!
//! `serve` writes `announced`, `disputed`, `attested`, `claim`, `contested`, `rejected` and `journey`, and `spec.wished`; `reconcile` writes all
//! the rest, its resync `described`, and `spec.wished` of what EC2 knows to be gone. Each patches its own fields only; what must not be written twice is guarded by the resource version.

use std::collections::BTreeMap;

use dynk8s_api::progress::Progress;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The API version of Workers, as an owner reference names it.
pub const API_VERSION: &str = "dynk8s.du5t1n.me/v1alpha1";

/// The kind of Workers.
pub const KIND: &str = "Worker";

/// What shall become of an instance.
#[derive(Clone, Debug, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "dynk8s.du5t1n.me",
    version = "v1alpha1",
    kind = "Worker",
    namespaced,
    status = "WorkerStatus",
    derive = "PartialEq",
    category = "dynk8s",
    validation = Rule::new("self.metadata.name == self.spec.instanceId").message("a Worker is named by its instance"),
    validation = Rule::new("oldSelf.spec.wished != 'gone' || self.spec.wished == 'gone'").message("what is gone stays gone"),
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Node","type":"string","jsonPath":".status.node.name"}"#,
    printcolumn = r#"{"name":"Key","type":"string","jsonPath":".status.key"}"#,
    printcolumn = r#"{"name":"Type","type":"string","jsonPath":".status.node.instanceType"}"#,
    printcolumn = r#"{"name":"Zone","type":"string","jsonPath":".status.node.zone"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSpec {
    /// The EC2 instance id; also the Worker's name.
    #[schemars(regex(pattern = r"^i-([0-9a-f]{8}|[0-9a-f]{17})$"))]
    pub instance_id: String,
    /// The wished-for end.
    pub wished: Wish,
    /// The operator's word, given by `workers release`, that the instance is gone even though its kubelet renews its Lease.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// What an instance shall be in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Wish {
    /// A node.
    Running,
    /// Gone, with everything that it had.
    Gone,
}

/// What is known of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerStatus {
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// What SNS said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<Announced>,
    /// When another account than that of `announced` announced a start of the instance, before it had proven whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed: Option<Timestamp>,
    /// What was proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attested: Option<Attested>,
    /// What EC2 says, if the provisioner has credentials to ask it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<Described>,
    /// The claim that was proven first; it binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// When a valid proof came with another claim key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<Timestamp>,
    /// When a valid proof with another key came after the join; noted again after ten minutes at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Timestamp>,
    /// What the agent reported. Advice only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journey: Option<Journey>,
    /// The generation of the join: 1 first, one more after each reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The name of the key Secret that the instance has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The beginning of the SHA-256 of the key's document when it was given away, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_fingerprint: Option<String>,
    /// Whether a key was the instance's before this Worker was made, as when somebody deleted the one before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inherited: bool,
    /// The bootstrap token of this generation, as long as it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Tokens that were taken back not long ago; each is deleted once more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<Withdrawn>,
    /// The Node, as long as it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
    /// When the Node was first seen Ready; from then on secrets are not handed out again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<Timestamp>,
    /// When token and Node were gone and the key's cool-down began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<Timestamp>,
    /// When the key was free again: from here on this is a tombstone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buried: Option<Timestamp>,
    /// `Announced`, `Claimed`, `KeyAssigned`, `TokenIssued`, `CertificateApproved`, `ServingCertificateApproved`, `Joined`,
    /// `Connected`, `Admitted`, `Rejected`, `Released`, each with a reason and a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Worker {
    /// Whether all that is known of the instance is the word of an account that another one contradicts.
    pub fn is_disputed(&self) -> bool {
        let disputed = |it: &WorkerStatus| it.disputed.is_some() && it.attested.is_none() && it.described.is_none();
        !self.spec.forced && self.status.as_ref().is_some_and(disputed)
    }
}

/// Where an instance stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Known, nothing proven.
    Announced,
    /// Proven, and waiting for a key.
    Waiting,
    /// Has its key and its token.
    Joining,
    /// Its Node is Ready.
    Ready,
    /// Its Node was Ready once and is not now.
    NotReady,
    /// AWS says that it is stopping or stopped; all but its token is kept, nothing is handed out.
    Stopped,
    /// Two claims contradict each other.
    Failed,
    /// It may be gone, and nobody knows: nothing was heard of it for long, or it was announced as terminated while its
    /// kubelet renews its Lease. Everything is kept until an event, EC2 or an operator says more.
    Suspect,
    /// Being released.
    Releasing,
    /// Released; the name is kept so that a late message cannot raise it.
    Gone,
}

/// An EC2 state change, as SNS brought it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// EC2's own word.
    pub state: State,
    /// The account of the instance.
    pub account: String,
    /// The region of the instance.
    pub region: String,
    /// The event's time; an older event never overwrites a newer one.
    pub time: Timestamp,
}

/// The states of an instance (EC2 user guide, "Instance lifecycle").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Pending,
    Running,
    Stopping,
    Stopped,
    ShuttingDown,
    Terminated,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        })
    }
}

/// An identity that was proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attested {
    /// The account that the instance belongs to.
    pub account: String,
    /// The region of the instance.
    pub region: String,
    /// The role that it proved itself by, if it was not the instance identity role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was started last, as its identity document says; an earlier document is not believed any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_time: Option<Timestamp>,
    /// When it was confirmed first.
    pub time: Timestamp,
}

/// An instance as EC2 describes it, and the tags of its Auto Scaling group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    /// EC2's own word.
    pub state: State,
    /// The account that owns the instance.
    pub account: String,
    /// The region that was asked.
    pub region: String,
    /// The instance type.
    pub instance_type: String,
    /// The availability zone.
    pub zone: String,
    /// The Auto Scaling group that launched it, from the tag that only AWS can set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_scaling_group: Option<String>,
    /// Those of its tags that a node group names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The group's tags for the Cluster Autoscaler, without their common beginning, as far as a node group allows them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub template: BTreeMap<String, String>,
    /// Since when it has been as it is here.
    pub time: Timestamp,
}

/// The claim that binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The agent's public claim key, base64.
    pub key: String,
    /// SHA-256 of the kubelet's first public key (DER `SubjectPublicKeyInfo`), base64.
    pub kubelet_key: String,
    /// The kubelet's version.
    pub kubelet_version: String,
    /// The last generation that the agent says it has reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<u32>,
    /// When it was made, or made again after five minutes or more; an hour later its token is not replaced any more.
    pub time: Timestamp,
}

/// A bootstrap token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The public half.
    pub id: String,
    /// The generation that it belongs to.
    pub generation: u32,
    /// When it expires by itself.
    pub expires: Timestamp,
}

/// A bootstrap token that was taken back, while it may still be made by whoever had begun to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Withdrawn {
    /// The public half.
    pub id: String,
    /// When it was deleted first.
    pub time: Timestamp,
}

/// A Node object of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its UID, so that only this very Node is deleted.
    pub uid: String,
    /// Whether its condition Ready was True.
    pub ready: bool,
    /// Label `node.kubernetes.io/instance-type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// The zone in its provider id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// The agent's own account of its journey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Journey {
    /// `running`, `ready` or `failed`.
    pub outcome: String,
    /// The steps that have begun.
    pub steps: Vec<Step>,
    /// On failure, the one line that says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// On failure, the last lines of the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Of a Ready node: what around it does not work; empty if all does that could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impaired: Option<Vec<String>>,
    /// When it was reported.
    pub time: Timestamp,
}

/// One step of a journey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub name: String,
    /// Milliseconds from the journey's start.
    pub started_ms: u64,
    /// Milliseconds that it took, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    pub attempts: u32,
    /// Why the last try failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Journey {
    /// A report, cut to the protocol's bounds.
    pub fn of(report: Progress, time: Timestamp) -> Self {
        let report = report.bounded();
        let outcome = match report.outcome {
            dynk8s_api::progress::Outcome::Running => "running",
            dynk8s_api::progress::Outcome::Ready => "ready",
            dynk8s_api::progress::Outcome::Failed => "failed",
        };
        let step = |it: dynk8s_api::progress::Step| Step {
            name: it.name,
            started_ms: it.started_ms,
            elapsed_ms: it.elapsed_ms,
            attempts: it.attempts,
            error: it.error,
        };
        Self {
            outcome: outcome.to_owned(),
            steps: report.steps.into_iter().map(step).collect(),
            error: report.error,
            log: report.log,
            impaired: report.impaired,
            time,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::{Described, State};

    pub(crate) fn described() -> Described {
        Described {
            state: State::Running,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            instance_type: "m7g.large".to_owned(),
            zone: "eu-central-1a".to_owned(),
            auto_scaling_group: Some("builders".to_owned()),
            tags: BTreeMap::new(),
            template: BTreeMap::new(),
            time: "2026-12-02T00:00:00Z".parse().unwrap(),
        }
    }
}
