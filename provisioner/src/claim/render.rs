//! What a node is told to become.

use dynk8s_api::claim::{NodeSettings, Taint, TaintEffect};

use crate::config::{NodeGroup, Settings};
use crate::labels::kubelet_may_set;
use crate::names::STARTUP_TAINT;
use crate::worker::Described;

/// What the kubelet registers with: the labels of its group that it may set, the group's taints, and the startup taint.
pub fn node_settings(group: &NodeGroup, described: Option<&Described>) -> NodeSettings {
    let settings = Settings::of(group, described);
    let startup = Taint {
        key: STARTUP_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    NodeSettings {
        labels: settings
            .labels
            .into_iter()
            .filter(|(key, _)| kubelet_may_set(key))
            .collect(),
        taints: settings.taints.into_iter().chain([startup]).collect(),
        kubelet: group.kubelet.patch(),
    }
}

#[cfg(test)]
mod tests {
    use super::node_settings;
    use crate::config::Config;
    use crate::worker::tests::described;

    #[test]
    fn a_node_registers_with_its_groups_labels_and_taints_and_with_the_startup_taint() {
        let config: Config = toml::from_str(include_str!("../../testdata/provisioner.toml")).unwrap();
        let settings = node_settings(&config.node_groups[0], None);
        let labels: Vec<_> = settings.labels.into_iter().collect();
        assert_eq!(
            labels,
            [("example.com/burst".to_owned(), "true".to_owned())],
            "a role is not the kubelet's to set"
        );
        let taints: Vec<_> = settings.taints.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(
            taints,
            [
                "example.com/burst",
                "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s"
            ]
        );
        assert!(settings.kubelet.is_empty());
    }

    #[test]
    fn a_node_is_told_what_the_tags_add_and_how_its_kubelet_is_to_be() {
        let config: Config = toml::from_str(include_str!("../../testdata/groups.toml")).unwrap();
        let mut described = described();
        described.template = [("label/team".to_owned(), "one".to_owned())].into();
        let settings = node_settings(&config.node_groups[0], Some(&described));
        assert_eq!(settings.labels["team"], "one");
        assert_eq!(settings.kubelet["maxPods"], 40);
    }
}
