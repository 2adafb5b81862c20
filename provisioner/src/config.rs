//! The configuration file, TOML: which messages and instances are believed, and what an instance becomes.

mod check;
mod live;
mod proof;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use dynk8s_api::claim::Taint;
use serde::Deserialize;
use url::Url;

pub use check::Fault;
pub use live::Live;
pub use proof::{InstanceRole, Proof, ProofMode};

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
    /// After this long a full proof suffices without an announcement.
    #[serde(deserialize_with = "seconds", rename = "announcement_seconds")]
    pub announcement: Duration,
}

/// Instances that become workers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    pub name: String,
    /// AWS accounts; STS verifies them.
    pub accounts: Vec<String>,
    /// Regions; STS verifies them.
    pub regions: Vec<String>,
    /// What an instance must prove itself by.
    #[serde(default)]
    pub proof: ProofMode,
    /// With `proof = "document"`: whoever has read an instance's document may claim in its place.
    #[serde(default)]
    pub accept_unbound_document: bool,
    /// Its instances prove themselves by this role instead of their own identity role.
    pub role: Option<InstanceRole>,
    /// What the kubelet registers with, and what the provisioner adds because a kubelet may not.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub taints: Vec<Taint>,
}

impl Config {
    /// Reads and checks the file. A file that cannot be parsed has one fault; one that can has all of them listed.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        read::config(path, &read::text(path)?)
    }

    /// What is wrong with it, all at once.
    pub fn faults(&self) -> Vec<Fault> {
        check::faults(self)
    }

    /// Whether any node group wants instances of this region.
    pub fn lists_region(&self, region: &str) -> bool {
        self.node_groups
            .iter()
            .any(|it| it.regions.iter().any(|it| it == region))
    }

    /// The node group that an instance of this account and region belongs to.
    pub fn group_of(&self, account: &str, region: &str) -> Option<&NodeGroup> {
        let has = |list: &[String], value: &str| list.iter().any(|it| it == value);
        self.node_groups
            .iter()
            .find(|it| has(&it.accounts, account) && has(&it.regions, region))
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

fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u32::deserialize(deserializer).map(|it| Duration::from_secs(it.into()))
}

fn listen() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 8080))
}

fn health_listen() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 8081))
}
