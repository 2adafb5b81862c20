//! What is kept of EC2's description: what node groups ask for, and no more, for a Worker is read often.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::config::{Config, Known, ProvenBy, Settings, TEMPLATE};
use crate::ec2::{GroupTags, Instance};
use crate::worker::Described;

/// Nobody but AWS can set a tag that begins with `aws:`.
const GROUP_TAG: &str = "aws:autoscaling:groupName";

/// The Auto Scaling groups of these instances, if any node group wants something of their tags.
pub(super) fn groups_to_ask(config: &Config, instances: &[Instance]) -> Vec<String> {
    if config.node_groups.iter().all(|it| it.from_tags.is_empty()) {
        return Vec::new();
    }
    let groups: BTreeSet<&String> = instances.iter().filter_map(|it| it.tags.get(GROUP_TAG)).collect();
    groups.into_iter().cloned().collect()
}

/// An instance of a region, with what the tags of its Auto Scaling group add.
pub(super) fn described(
    config: &Config,
    instance: &Instance,
    region: &str,
    tags: &GroupTags,
    now: Timestamp,
) -> Described {
    let group = instance.tags.get(GROUP_TAG);
    let named = |key: &str| config.node_groups.iter().any(|it| it.tags.contains_key(key));
    let own = instance.tags.iter().filter(|(key, _)| named(key));
    Described {
        state: instance.state,
        account: instance.account.clone(),
        region: region.to_owned(),
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        auto_scaling_group: group.cloned(),
        tags: own.map(|(key, value)| (key.clone(), value.clone())).collect(),
        template: group
            .and_then(|it| tags.get(it))
            .map_or_else(BTreeMap::new, |it| template(config, it)),
        time: now,
    }
}

/// What tags say and no node can become.
pub(super) fn refused(config: &Config, described: &Described) -> Vec<String> {
    let known = Known {
        account: &described.account,
        region: &described.region,
        by: ProvenBy::Nothing,
        described: Some(described),
    };
    let group = config.eligibility(&known).group();
    group.map_or_else(Vec::new, |it| Settings::of(it, Some(described)).refused)
}

fn template(config: &Config, tags: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let allowed = |tag: &str| {
        let name = tag.split_once('/').map(|(_, name)| name);
        name.is_some_and(|name| config.node_groups.iter().any(|it| it.allows_tag(name)))
    };
    let of_template = tags
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(TEMPLATE)?, value)));
    of_template
        .filter(|(tag, _)| allowed(tag))
        .map(|(tag, value)| (tag.to_owned(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{described, groups_to_ask};
    use crate::config::Config;
    use crate::ec2::{GroupTags, Instance};
    use crate::worker::State;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn instance() -> Instance {
        Instance {
            id: "i-0123456789abcdef0".to_owned(),
            account: "123456789012".to_owned(),
            state: State::Running,
            instance_type: "m7g.large".to_owned(),
            zone: "eu-central-1a".to_owned(),
            tags: pairs(&[
                ("aws:autoscaling:groupName", "builders"),
                ("team", "one"),
                ("Name", "private"),
            ]),
        }
    }

    fn config() -> Config {
        toml::from_str(include_str!("../../testdata/groups.toml")).unwrap()
    }

    #[test]
    fn what_no_node_group_asks_for_is_not_kept() {
        let template = "k8s.io/cluster-autoscaler/node-template";
        let group = pairs(&[
            (&format!("{template}/label/example.com/disk"), "ssd"),
            (&format!("{template}/label/node-role.kubernetes.io/control-plane"), ""),
            (&format!("{template}/autoscaling-options/maxnodeprovisiontime"), "15m"),
            ("k8s.io/cluster-autoscaler/enabled", "true"),
            ("label/example.com/disk", "hdd"),
        ]);
        let tags = GroupTags::from([("builders".to_owned(), group)]);
        let found = described(
            &config(),
            &instance(),
            "eu-central-1",
            &tags,
            "2026-12-02T00:00:00Z".parse().unwrap(),
        );
        assert_eq!(found.auto_scaling_group.as_deref(), Some("builders"));
        assert_eq!(found.tags, pairs(&[("team", "one")]));
        assert_eq!(found.template, pairs(&[("label/example.com/disk", "ssd")]));
    }

    #[test]
    fn the_tags_of_groups_are_asked_for_only_if_they_are_used() {
        let mut config = config();
        assert_eq!(groups_to_ask(&config, &[instance(), instance()]), ["builders"]);
        config.node_groups[0].from_tags.clear();
        assert!(groups_to_ask(&config, &[instance()]).is_empty());
    }
}
