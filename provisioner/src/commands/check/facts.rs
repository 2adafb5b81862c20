//! What is seen, and why something could not be seen.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde_json::Value;

use super::shipped::Right;
use crate::commands::keys::decide::inventory::Entry;
use crate::config::Config;
use crate::ec2::GroupTags;

/// What was seen, or why it could not be.
pub(crate) type Seen<T> = Result<T, String>;

/// All that is looked at.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The definition of Workers, as we make it and as it is there.
    pub(crate) definition: (Value, Seen<Option<Value>>),
    /// Rights that an account must have, and whether it has them.
    pub(crate) needed: Seen<Vec<(Right, bool)>>,
    /// Rights that an account must not have, and whether it has them.
    pub(crate) forbidden: Seen<Vec<(Right, bool)>>,
    /// Policies and their bindings: what we ship, and what is there.
    pub(crate) policies: Vec<(Value, Seen<Option<Value>>)>,
    /// Why the cluster approves the requests of our tokens by itself, if it does.
    pub(crate) automatic_approval: Seen<Option<String>>,
    pub(crate) config: Seen<Config>,
    pub(crate) pool: Seen<Vec<Entry>>,
    /// How many instances may run at once, as far as anybody said.
    pub(crate) most_instances: Option<usize>,
    pub(crate) networks: Seen<Networks>,
    /// The API server at the address that nodes are told; none without a configuration that tells it.
    pub(crate) server: Option<Seen<Probe>>,
    /// STS, by region.
    pub(crate) sts: BTreeMap<String, Probe>,
    /// The public URL, if one was named.
    pub(crate) public: Option<Public>,
    /// What AWS says to whoever has credentials; none without.
    pub(crate) aws: Option<Aws>,
}

/// The cluster's own networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Networks {
    pub(crate) pods: Vec<IpNet>,
    pub(crate) services: Vec<IpNet>,
}

/// What came of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It answers HTTP.
    Answers,
    /// Its certificate is not one that may be trusted there.
    Untrusted(String),
    /// It cannot be reached from here.
    Unreachable(String),
}

/// What stands at the public URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Public {
    pub(crate) url: String,
    pub(crate) reached: Probe,
    /// Whether it answers a claim as `serve` does.
    pub(crate) is_ours: bool,
    /// Paths that it answers and should not.
    pub(crate) exposed: Vec<String>,
}

/// What AWS says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aws {
    /// The attribute `SignatureVersion` of each topic.
    pub(crate) signature_versions: BTreeMap<String, Seen<String>>,
    /// The tags of each Auto Scaling group that a node group names, by region.
    pub(crate) tags: BTreeMap<String, Seen<GroupTags>>,
    /// The maximum size of each of them.
    pub(crate) maxima: BTreeMap<String, Seen<BTreeMap<String, usize>>>,
}
