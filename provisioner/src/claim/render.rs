//! What a node is told to become.

use dynk8s_api::claim::{NodeSettings, Taint, TaintEffect};

use crate::config::NodeGroup;
use crate::labels::kubelet_may_set;
use crate::names::STARTUP_TAINT;

/// What the kubelet registers with: the labels of its group that it may set, the group's taints, and the startup taint.
pub fn node_settings(group: &NodeGroup) -> NodeSettings {
    let own = group.labels.iter().filter(|(key, _)| kubelet_may_set(key));
    let startup = Taint {
        key: STARTUP_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    NodeSettings {
        labels: own.map(|(key, value)| (key.clone(), value.clone())).collect(),
        taints: group.taints.iter().cloned().chain([startup]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::node_settings;
    use crate::config::Config;

    #[test]
    fn a_node_registers_with_its_groups_labels_and_taints_and_with_the_startup_taint() {
        let config: Config = toml::from_str(include_str!("../../testdata/provisioner.toml")).unwrap();
        let settings = node_settings(&config.node_groups[0]);
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
    }
}
