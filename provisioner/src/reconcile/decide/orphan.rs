//! What bears the name of an instance that has no Worker, after somebody deleted it or the namespace was restored.
//!
//! A key is never freed on a guess: its instance gets a Worker again, and everything else follows from that. What it was to
//! join with is taken back; should it still be needed, the next claim gets it anew.

use std::collections::BTreeMap;

use dynk8s_api::InstanceId;
use k8s_openapi::api::core::v1::Secret;

use super::pool::{Holder, holder};
use super::token::Join;

/// Something without a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// The instance that a key names.
    Instance { instance: InstanceId, key: String },
    /// The join Secret of an instance, with the id of the token that it holds.
    Join {
        instance: InstanceId,
        token: String,
        resource_version: String,
    },
    /// A key whose label is no instance id.
    Nobody { key: String },
}

impl Orphan {
    /// The instance, or the key where no instance is named.
    pub(crate) fn whose(&self) -> &str {
        match self {
            Self::Instance { instance, .. } | Self::Join { instance, .. } => instance.as_str(),
            Self::Nobody { key } => key,
        }
    }
}

/// Everything that has no Worker; `is_known` says whether an instance has one.
pub(crate) fn orphans<'a>(
    keys: impl IntoIterator<Item = &'a Secret>,
    joins: impl IntoIterator<Item = &'a Secret>,
    is_known: impl Fn(&str) -> bool,
) -> Vec<Orphan> {
    let mut instances = BTreeMap::new();
    let mut orphans = Vec::new();
    for key in keys {
        let (Holder::Instance(name), Some(key)) = (holder(key), key.metadata.name.clone()) else {
            continue;
        };
        match name.parse::<InstanceId>() {
            Ok(instance) if !is_known(name) => drop(instances.entry(instance.to_string()).or_insert((instance, key))),
            Ok(_) => {}
            Err(_) => orphans.push(Orphan::Nobody { key }),
        }
    }
    let instances = instances.into_values();
    orphans.extend(instances.map(|(instance, key)| Orphan::Instance { instance, key }));
    let joins = joins.into_iter().filter_map(Orphan::of_join);
    orphans.extend(joins.filter(|it| matches!(it, Orphan::Join { instance, .. } if !is_known(instance.as_str()))));
    orphans
}

impl Orphan {
    /// What a join Secret would be without its Worker.
    pub(crate) fn of_join(secret: &Secret) -> Option<Self> {
        let join = Join::of(secret)?;
        Some(Self::Join {
            instance: secret.metadata.name.as_ref()?.parse().ok()?,
            token: join.token.id,
            resource_version: join.resource_version,
        })
    }
}
