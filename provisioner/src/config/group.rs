//! Node groups: which instances are workers, and what they become.

use std::collections::BTreeMap;

use dynk8s_api::claim::Taint;
use serde::Deserialize;

use super::kubelet::Kubelet;
use super::proof::{InstanceRole, ProofMode};
use super::selector::Selector;
use crate::worker::{Described, WorkerStatus};

/// Instances that become workers. All of its rules must hold.
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
    /// Auto Scaling groups, one of which must have launched the instance; EC2 verifies it.
    #[serde(default)]
    pub auto_scaling_groups: Vec<String>,
    /// Tags that the instance must have; EC2 verifies them.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// What the kubelet registers with, and what the provisioner adds because a kubelet may not.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// What the autoscaler predicts of such a node. Nothing sets it; `check` compares it with the tags.
    #[serde(default)]
    pub resources: BTreeMap<String, String>,
    /// Labels, taints and resources of these names are taken from the tags of the Auto Scaling group as well.
    #[serde(default)]
    pub from_tags: Vec<String>,
    /// What is changed in the kubelet's configuration.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// Which WireGuard keys its instances may have.
    #[serde(default)]
    pub keys: Selector,
    /// When the bootstrap token is made.
    #[serde(default)]
    pub token: TokenMode,
}

/// When the bootstrap token of an instance is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenMode {
    /// At its claim: a slow boot does not outlive it, and an instance that never asks has none.
    #[default]
    Claim,
    /// As soon as it runs and has a key.
    Running,
}

/// What is known of an instance, each part from whoever can tell.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub account: &'a str,
    pub region: &'a str,
    /// What it has proven itself by.
    pub by: ProvenBy<'a>,
    /// What EC2 said, once it was asked.
    pub described: Option<&'a Described>,
}

/// What an instance has proven itself by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvenBy<'a> {
    /// It has not yet.
    Nothing,
    /// Its own identity.
    Itself,
    /// The role of this name.
    Role(&'a str),
}

impl<'a> ProvenBy<'a> {
    /// This role, or itself.
    pub fn role(name: Option<&'a str>) -> Self {
        name.map_or(Self::Itself, Self::Role)
    }
}

impl<'a> Known<'a> {
    /// What a Worker's status holds: STS's word counts more than SNS's.
    pub fn of(status: &'a WorkerStatus) -> Option<Self> {
        let attested = status.attested.as_ref().map(|it| (&it.account, &it.region));
        let announced = status.announced.as_ref().map(|it| (&it.account, &it.region));
        let (account, region) = attested.or(announced)?;
        Some(Self {
            account,
            region,
            by: status
                .attested
                .as_ref()
                .map_or(ProvenBy::Nothing, |it| ProvenBy::role(it.role.as_deref())),
            described: status.described.as_ref(),
        })
    }
}

/// Whether an instance becomes a worker.
#[derive(Clone, Copy, Debug)]
pub enum Eligibility<'a> {
    /// It is one of this group.
    Of(&'a NodeGroup),
    /// It may be, once EC2 has been asked, or its role is proven. Until then it is not.
    Undescribed,
    /// It is not.
    Foreign,
}

impl<'a> Eligibility<'a> {
    /// The first group whose rules all hold. One that may still hold bars those after it, or an instance would change its
    /// group as soon as it is described.
    pub(super) fn among(groups: &'a [NodeGroup], known: &Known<'_>) -> Self {
        for group in groups {
            match group.takes(known) {
                Some(true) => return Self::Of(group),
                Some(false) => {}
                None => return Self::Undescribed,
            }
        }
        Self::Foreign
    }

    /// The group, if it is known.
    pub fn group(self) -> Option<&'a NodeGroup> {
        match self {
            Self::Of(group) => Some(group),
            Self::Undescribed | Self::Foreign => None,
        }
    }
}

impl NodeGroup {
    /// Whether it may take instances of this account and region.
    pub fn lists(&self, account: &str, region: &str) -> bool {
        let has = |list: &[String], value: &str| list.iter().any(|it| it == value);
        has(&self.accounts, account) && has(&self.regions, region)
    }

    /// Whether it may take instances of this region.
    pub fn lists_region(&self, region: &str) -> bool {
        self.regions.iter().any(|it| it == region)
    }

    /// Whether anything of it can be told only by EC2.
    pub fn needs_description(&self) -> bool {
        !(self.auto_scaling_groups.is_empty() && self.tags.is_empty() && self.from_tags.is_empty())
    }

    /// `None` if only EC2 can tell.
    fn takes(&self, known: &Known<'_>) -> Option<bool> {
        if !self.lists(known.account, known.region) {
            return Some(false);
        }
        match (&self.role, known.by) {
            (Some(_), ProvenBy::Nothing) => return None,
            (Some(role), ProvenBy::Role(name)) if role.name == name => {}
            (None, ProvenBy::Nothing | ProvenBy::Itself) => {}
            _ => return Some(false),
        }
        if !self.needs_description() {
            return Some(true);
        }
        let described = known.described?;
        let is_its = (&*described.account, &*described.region) == (known.account, known.region);
        let origin = described.auto_scaling_group.as_ref();
        let launched =
            self.auto_scaling_groups.is_empty() || origin.is_some_and(|it| self.auto_scaling_groups.contains(it));
        let tagged = self
            .tags
            .iter()
            .all(|(key, value)| described.tags.get(key) == Some(value));
        Some(is_its && launched && tagged)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Eligibility, Known, ProvenBy};
    use crate::config::{Config, InstanceRole};
    use crate::worker::tests::described;

    const SAMPLE: &str = include_str!("../../testdata/groups.toml");

    fn of(eligibility: Eligibility<'_>) -> &str {
        match eligibility {
            Eligibility::Of(group) => &group.name,
            Eligibility::Undescribed => "undescribed",
            Eligibility::Foreign => "foreign",
        }
    }

    #[test_case("123456789012", "eu-west-1", "plain"; "a rule of account and region alone decides at once")]
    #[test_case("123456789012", "eu-central-1", "undescribed"; "a rule that EC2 must verify waits for it")]
    #[test_case("999999999999", "eu-central-1", "foreign"; "another account")]
    #[test_case("123456789012", "us-east-1", "foreign"; "another region")]
    fn before_it_is_described(account: &str, region: &str, expected: &str) {
        let config: Config = toml::from_str(SAMPLE).unwrap();
        let known = Known {
            account,
            region,
            by: ProvenBy::Itself,
            described: None,
        };
        assert_eq!(of(config.eligibility(&known)), expected);
    }

    #[test_case(Some("builders"), &[], "builders"; "of its Auto Scaling group")]
    #[test_case(Some("others"), &[], "rest"; "of another Auto Scaling group")]
    #[test_case(None, &[], "rest"; "of none")]
    #[test_case(None, &[("purpose", "peak"), ("team", "one")], "peak"; "with all tags")]
    #[test_case(None, &[("purpose", "peak")], "rest"; "with one of two tags")]
    #[test_case(None, &[("purpose", "peaks"), ("team", "one")], "rest"; "with another value")]
    fn once_it_is_described(group: Option<&str>, tags: &[(&str, &str)], expected: &str) {
        let config: Config = toml::from_str(SAMPLE).unwrap();
        let mut described = described();
        described.auto_scaling_group = group.map(str::to_owned);
        described.tags = tags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let known = Known {
            account: "123456789012",
            region: "eu-central-1",
            by: ProvenBy::Itself,
            described: Some(&described),
        };
        assert_eq!(of(config.eligibility(&known)), expected);
    }

    #[test_case(ProvenBy::Nothing, "undescribed"; "before the proof")]
    #[test_case(ProvenBy::Role("node"), "builders"; "by the role")]
    #[test_case(ProvenBy::Role("other"), "foreign"; "by another role")]
    #[test_case(ProvenBy::Itself, "plain"; "by itself")]
    fn a_role_chooses_the_group(by: ProvenBy<'_>, expected: &str) {
        let mut config: Config = toml::from_str(SAMPLE).unwrap();
        config
            .node_groups
            .retain(|it| ["builders", "plain"].contains(&it.name.as_str()));
        for (group, role) in config.node_groups.iter_mut().zip([Some("node"), None]) {
            (group.auto_scaling_groups, group.tags, group.from_tags) = Default::default();
            group.regions = vec!["eu-central-1".to_owned()];
            group.role = role.map(|it| InstanceRole {
                name: it.to_owned(),
                unique_id: "AROA0123456789ABCDEF".to_owned(),
            });
        }
        let known = Known {
            account: "123456789012",
            region: "eu-central-1",
            by,
            described: None,
        };
        assert_eq!(of(config.eligibility(&known)), expected);
    }

    #[test]
    fn what_ec2_says_of_another_account_is_nothing() {
        let config: Config = toml::from_str(SAMPLE).unwrap();
        let mut described = described();
        described.account = "999999999999".to_owned();
        let known = Known {
            account: "123456789012",
            region: "eu-central-1",
            by: ProvenBy::Itself,
            described: Some(&described),
        };
        assert_eq!(of(config.eligibility(&known)), "rest");
    }
}
