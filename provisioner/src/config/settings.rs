//! What an instance becomes: what its node group says, and what the tags of its Auto Scaling group add where the group
//! allows it. So what the autoscaler predicts from the tags is what it gets.

use std::collections::BTreeMap;

use dynk8s_api::claim::{Taint, TaintEffect};

use super::check::node::{label_fault, resource_fault, taint_fault};
use super::group::NodeGroup;
use crate::worker::Described;

/// What the tags that the Cluster Autoscaler reads begin with. EC2 Auto Scaling admits them on groups; on an instance whose
/// metadata shows its tags the slash would make the launch fail.
pub const TEMPLATE: &str = "k8s.io/cluster-autoscaler/node-template/";

/// Labels, taints and predicted resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub resources: BTreeMap<String, String>,
    /// Tags that are allowed and yet not taken, and why.
    pub refused: Vec<String>,
}

impl Settings {
    /// What the group says counts more than a tag.
    pub fn of(group: &NodeGroup, described: Option<&Described>) -> Self {
        let mut settings = Self {
            labels: group.labels.clone(),
            taints: group.taints.clone(),
            resources: group.resources.clone(),
            refused: Vec::new(),
        };
        for (tag, value) in described.iter().flat_map(|it| &it.template) {
            if let Err(fault) = settings.add(group, tag, value) {
                settings.refused.push(format!("tag `{TEMPLATE}{tag}`: {fault}"));
            }
        }
        settings
    }

    /// Adds what one tag says; `tag` is the rest of its name.
    fn add(&mut self, group: &NodeGroup, tag: &str, value: &str) -> Result<(), String> {
        let Some((kind, name)) = tag.split_once('/').filter(|(_, name)| group.allows_tag(name)) else {
            return Ok(());
        };
        match kind {
            "label" => {
                label_fault(name, value).map_or(Ok(()), Err)?;
                self.labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
            "taint" => {
                let taint = taint(name, value).ok_or_else(|| format!("`{value}` is not `<value>:<effect>`"))?;
                taint_fault(&taint).map_or(Ok(()), Err)?;
                let same = |it: &Taint| (&it.key, it.effect) == (&taint.key, taint.effect);
                if !self.taints.iter().any(same) {
                    self.taints.push(taint);
                }
            }
            "resources" => {
                resource_fault(name, value).map_or(Ok(()), Err)?;
                self.resources
                    .entry(name.to_owned())
                    .or_insert_with(|| value.to_owned());
            }
            _ => {}
        }
        Ok(())
    }
}

impl NodeGroup {
    /// Whether a tag of the Auto Scaling group may say something of this name.
    pub fn allows_tag(&self, name: &str) -> bool {
        self.from_tags.iter().any(|it| match it.strip_suffix('/') {
            Some(prefix) => name.split_once('/').is_some_and(|(it, _)| it == prefix),
            None => name == it,
        })
    }
}

fn taint(key: &str, text: &str) -> Option<Taint> {
    let (value, effect) = text.split_once(':')?;
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    };
    Some(Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    })
}

#[cfg(test)]
mod tests {
    use dynk8s_api::claim::TaintEffect;
    use test_case::test_case;

    use super::Settings;
    use crate::config::Config;
    use crate::worker::tests::described;

    fn settings(tags: &[(&str, &str)]) -> Settings {
        let config: Config = toml::from_str(include_str!("../../testdata/groups.toml")).unwrap();
        let mut described = described();
        described.template = tags
            .iter()
            .map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned()))
            .collect();
        Settings::of(&config.node_groups[0], Some(&described))
    }

    #[test]
    fn tags_add_what_the_group_allows() {
        let found = settings(&[
            ("label/example.com/disk", "ssd"),
            ("label/team", "one"),
            ("taint/example.com/spot", "true:NoExecute"),
            ("resources/example.com/fpga", "2"),
        ]);
        assert_eq!(found.labels["example.com/disk"], "ssd");
        assert_eq!(found.labels["team"], "one");
        assert_eq!(found.resources["example.com/fpga"], "2");
        let last = found.taints.last().unwrap();
        assert_eq!(
            (last.key.as_str(), last.value.as_str(), last.effect),
            ("example.com/spot", "true", TaintEffect::NoExecute)
        );
        assert!(found.refused.is_empty());
    }

    #[test_case("label/example.com.evil/disk"; "a longer domain")]
    #[test_case("label/teams"; "a longer name")]
    #[test_case("label/node-role.kubernetes.io/builder"; "a domain that is not allowed")]
    #[test_case("autoscaling-options/example.com/x"; "what is no node's")]
    #[test_case("label"; "no name")]
    fn tags_add_nothing_else(tag: &str) {
        assert_eq!(settings(&[(tag, "x")]), settings(&[]));
    }

    #[test_case("label/node-role.kubernetes.io/control-plane", "")]
    #[test_case("label/node-role.kubernetes.io/master", "")]
    #[test_case("label/kubernetes.io/hostname", "another"; "the name of another node")]
    #[test_case("taint/startup-taint.cluster-autoscaler.kubernetes.io/dynk8s", "true:NoSchedule"; "our own taint")]
    #[test_case("taint/node.kubernetes.io/not-ready", ":NoExecute"; "a taint that Kubernetes lifts")]
    fn no_tag_says_what_the_file_may_not_say(tag: &str, value: &str) {
        let mut config: Config = toml::from_str(include_str!("../../testdata/groups.toml")).unwrap();
        let group = &mut config.node_groups[0];
        let (_, name) = tag.split_once('/').unwrap();
        let (domain, _) = name.split_once('/').unwrap();
        group.from_tags = vec![format!("{domain}/")];
        let mut described = described();
        described.template = [(tag.to_owned(), value.to_owned())].into();
        let found = Settings::of(group, Some(&described));
        assert_eq!(found.refused.len(), 1, "{found:?}");
        assert_eq!(
            (found.labels, found.taints),
            (group.labels.clone(), group.taints.clone())
        );
    }

    #[test]
    fn the_group_has_the_last_word() {
        let found = settings(&[
            ("label/example.com/purpose", "mining"),
            ("taint/example.com/build", "x:NoSchedule"),
        ]);
        assert_eq!(found.labels["example.com/purpose"], "build");
        assert_eq!(found.taints.len(), 1);
    }

    #[test_case("label/example.com/disk", "a b"; "a label's value")]
    #[test_case("label/example.com/a/b", "x"; "a label's name")]
    #[test_case("taint/example.com/spot", "true"; "a taint without effect")]
    #[test_case("taint/example.com/spot", "true:Never"; "a taint with an unknown effect")]
    #[test_case("taint/example.com/spot", "a b:NoSchedule"; "a taint's value")]
    #[test_case("resources/example.com/fpga", "many"; "a resource")]
    fn what_a_kubelet_would_refuse_is_told_and_not_taken(tag: &str, value: &str) {
        let found = settings(&[(tag, value)]);
        assert_eq!(found.refused.len(), 1, "{found:?}");
        assert!(found.refused[0].contains(tag), "{found:?}");
        assert_eq!(
            Settings {
                refused: Vec::new(),
                ..found
            },
            settings(&[])
        );
    }
}
