//! The configuration file, TOML: which messages and instances are believed, and what an instance becomes.

mod check;
mod group;
mod kubelet;
mod live;
mod proof;
mod read;
mod selector;
mod settings;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::http::HeaderName;
use serde::Deserialize;
use serde::de::Error as _;
use url::Url;

use crate::sns::topic::Topic;
use crate::worker::Worker;

pub use check::Fault;
pub use group::{Eligibility, Known, NodeGroup, ProvenBy, TokenMode};
pub use live::Live;
pub use proof::{InstanceRole, Proof, ProofMode};
pub use selector::Selector;
pub use settings::{Settings, TEMPLATE};

/// The whole file. Unknown keys are refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where `serve` listens for AWS and agents, behind an ingress that ends TLS.
    #[serde(default = "listen")]
    pub listen: SocketAddr,
    /// Where `/healthz` and `/readyz` are, for the cluster only.
    #[serde(default = "health_listen")]
    pub health_listen: SocketAddr,
    /// The header field in which the ingress tells the caller's address: for the log, and believed for nothing else.
    #[serde(default, deserialize_with = "field_name")]
    pub caller_header: Option<HeaderName>,
    /// The cluster that nodes join.
    pub cluster: Cluster,
    /// What SNS may say.
    pub sns: Sns,
    /// What proofs are checked against.
    #[serde(default)]
    pub proof: Proof,
    /// How long things last.
    #[serde(default)]
    pub times: Times,
    /// Says that the provisioner has AWS credentials, found as the AWS command line finds them.
    pub aws: Option<Aws>,
    /// Which instances are workers, and what they become. The first that matches holds.
    #[serde(rename = "node_group")]
    pub node_groups: Vec<NodeGroup>,
}

/// The cluster, as a node reaches it through the tunnel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// `https://name:port`; the name is resolved by the DNS servers of the WireGuard document.
    pub server: Url,
    /// Whether the kubelet must be seen from here, on its tunnel address, before pods may come.
    #[serde(default)]
    pub look: Look,
}

/// Whether a node is looked at from the cluster's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// Its kubelet must answer on the tunnel with the right certificate.
    #[default]
    Required,
    /// It is not: where the cluster's hosts and pods have no route into the tunnel.
    Off,
}

impl Cluster {
    /// `https://name:port`, the port always there.
    pub fn server(&self) -> String {
        let host = self.server.host_str().unwrap_or_default();
        let port = self.server.port_or_known_default().unwrap_or(443);
        format!("https://{host}:{port}")
    }
}

/// The topics of the operator's own account.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sns {
    /// ARNs, each `arn:<partition>:sns:<region>:<account>:<name>`.
    pub topics: Vec<String>,
    /// Those of them that still sign with version 1, which is SHA-1: topics made long ago do until they are told otherwise.
    #[serde(default)]
    pub signature_version_1: Vec<String>,
    /// Whether an instance that nobody announced gets nothing, however well it proves itself.
    #[serde(default)]
    pub require_announcement: bool,
}

impl Sns {
    /// The topics. What is none was found by [`Config::faults`].
    pub fn listed(&self) -> Vec<Topic> {
        let topics = self.topics.iter().filter_map(|it| it.parse().ok());
        let with_version = |topic: Topic| Topic {
            signs_with_sha1: self.signature_version_1.contains(&topic.arn),
            ..topic
        };
        topics.map(with_version).collect()
    }
}

/// Durations in seconds, as Kubernetes' own configuration would name them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Times {
    /// How long a key rests after its instance is gone; a WireGuard session lives 180 s.
    #[serde(deserialize_with = "seconds", rename = "key_cooldown_seconds")]
    pub key_cooldown: Duration,
    /// How long a Worker stays as a tombstone.
    #[serde(deserialize_with = "seconds", rename = "tombstone_seconds")]
    pub tombstone: Duration,
    /// How long a bootstrap token lives.
    #[serde(deserialize_with = "seconds", rename = "token_seconds")]
    pub token: Duration,
    /// After this long a full proof suffices without an announcement, unless `sns.require_announcement` wants one.
    #[serde(deserialize_with = "seconds", rename = "announcement_seconds")]
    pub announcement: Duration,
}

/// What is asked of AWS with credentials.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Aws {
    /// How often EC2 is asked about all instances.
    #[serde(deserialize_with = "seconds", rename = "resync_seconds")]
    pub resync: Duration,
}

impl Config {
    /// Reads and checks the file. A file that cannot be parsed has one fault; one that can has all of them listed.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        read::config(path, &read::text(path)?)
    }

    /// Understands and checks the text of a file that lies elsewhere; `origin` says where.
    pub fn parse(origin: &Path, text: &str) -> anyhow::Result<Self> {
        read::config(origin, text)
    }

    /// Whether any node group may take instances of this region.
    pub fn lists_region(&self, region: &str) -> bool {
        self.node_groups.iter().any(|it| it.lists_region(region))
    }

    /// What is wrong with it, all at once.
    pub fn faults(&self) -> Vec<Fault> {
        check::faults(self)
    }

    /// Whether any node group may want instances of this account and region.
    pub fn lists(&self, account: &str, region: &str) -> bool {
        self.node_groups.iter().any(|it| it.lists(account, region))
    }

    /// Whether an instance of a node group can be of one account only.
    pub fn has_one_account(&self) -> bool {
        let mut accounts = self.node_groups.iter().flat_map(|it| &it.accounts);
        let first = accounts.next();
        accounts.all(|it| Some(it) == first)
    }

    /// The keys that a Worker may have; all of them if no group takes it, for then it gets none.
    pub fn pool_of(&self, worker: &Worker) -> Selector {
        let known = worker.status.as_ref().and_then(Known::of);
        let group = known.and_then(|it| self.eligibility(&it).group());
        group.map(|it| it.keys.clone()).unwrap_or_default()
    }

    /// Whether an instance becomes a worker, and of which group.
    pub fn eligibility(&self, known: &Known<'_>) -> Eligibility<'_> {
        Eligibility::among(&self.node_groups, known)
    }
}

impl Default for Times {
    fn default() -> Self {
        Self {
            key_cooldown: Duration::from_mins(4),
            tombstone: Duration::from_hours(24),
            token: Duration::from_mins(12),
            announcement: Duration::from_mins(1),
        }
    }
}

impl Default for Aws {
    fn default() -> Self {
        Self {
            resync: Duration::from_mins(5),
        }
    }
}

fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u32::deserialize(deserializer).map(|it| Duration::from_secs(it.into()))
}

fn field_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<HeaderName>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let parsed = name
        .parse()
        .map_err(|_| D::Error::custom("no name of a header field"))?;
    Ok(Some(parsed))
}

fn listen() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 8080))
}

fn health_listen() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 8081))
}
