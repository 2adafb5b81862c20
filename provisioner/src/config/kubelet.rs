//! What a node group may change in the kubelet's configuration: a fixed list, each with the kubelet's own name and rules.
//!
//! The kubelet ends at its start if it does not like its configuration, and then no node of the group joins. So what its
//! `ValidateKubeletConfiguration` refuses is refused here
//! ([reference](https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::quantity::{duration, is_percentage, is_quantity};

/// Fields of `KubeletConfiguration`. What is absent stays as the cluster has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Kubelet {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<u16>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub system_reserved: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kube_reserved: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub eviction_hard: BTreeMap<String, String>,
    #[serde(rename = "imageGCHighThresholdPercent", skip_serializing_if = "Option::is_none")]
    pub image_gc_high: Option<u8>,
    #[serde(rename = "imageGCLowThresholdPercent", skip_serializing_if = "Option::is_none")]
    pub image_gc_low: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_log_max_size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_log_max_files: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_grace_period: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_grace_period_critical_pods: Option<String>,
}

const RESERVABLE: [&str; 4] = ["cpu", "ephemeral-storage", "memory", "pid"];

const SIGNALS: [&str; 8] = [
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
];

impl Kubelet {
    /// As the patch that the agent applies; empty if nothing is changed.
    pub fn patch(&self) -> BTreeMap<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }

    /// The fields that the kubelet would refuse, and why.
    pub(super) fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if self.max_pods == Some(0) {
            faults.push(("maxPods", "must be at least 1".to_owned()));
        }
        reserved(&mut faults, "systemReserved", &self.system_reserved);
        reserved(&mut faults, "kubeReserved", &self.kube_reserved);
        for (signal, threshold) in &self.eviction_hard {
            if !SIGNALS.contains(&signal.as_str()) {
                let fault = format!("`{signal}` is no signal; there are {}", SIGNALS.join(", "));
                faults.push(("evictionHard", fault));
            } else if !is_quantity(threshold) && !is_percentage(threshold) {
                let fault = format!("`{threshold}` is neither a quantity nor a percentage below 100%");
                faults.push(("evictionHard", fault));
            }
        }
        self.collection(&mut faults);
        self.logs(&mut faults);
        self.shutdown(&mut faults);
        faults
    }

    fn collection(&self, faults: &mut Vec<(&'static str, String)>) {
        let right = match (self.image_gc_high, self.image_gc_low) {
            (None, None) => true,
            (Some(high), Some(low)) => low < high && high <= 100,
            _ => false,
        };
        if !right {
            // One alone could contradict the other as the cluster has it.
            let fault = "must stand together with `imageGCLowThresholdPercent`, be more than it, and at most 100";
            faults.push(("imageGCHighThresholdPercent", fault.to_owned()));
        }
    }

    fn logs(&self, faults: &mut Vec<(&'static str, String)>) {
        if let Some(size) = self.container_log_max_size.as_ref().filter(|it| !is_quantity(it)) {
            faults.push(("containerLogMaxSize", format!("`{size}` is no quantity such as `10Mi`")));
        }
        if self.container_log_max_files.is_some_and(|it| it < 2) {
            faults.push(("containerLogMaxFiles", "must be at least 2".to_owned()));
        }
    }

    fn shutdown(&self, faults: &mut Vec<(&'static str, String)>) {
        let whole = self.shutdown_grace_period.as_deref();
        let critical = self.shutdown_grace_period_critical_pods.as_deref();
        let right = match (whole, critical) {
            (None, None) => true,
            (Some(whole), Some(critical)) => {
                duration(whole).is_some_and(|whole| duration(critical).is_some_and(|critical| critical <= whole))
            }
            _ => false,
        };
        if !right {
            let fault =
                "must stand together with `shutdownGracePeriodCriticalPods` and not be less; both such as `1m30s`";
            faults.push(("shutdownGracePeriod", fault.to_owned()));
        }
    }
}

fn reserved(faults: &mut Vec<(&'static str, String)>, field: &'static str, resources: &BTreeMap<String, String>) {
    for (resource, quantity) in resources {
        if !RESERVABLE.contains(&resource.as_str()) {
            let fault = format!("`{resource}` cannot be reserved; {} can", RESERVABLE.join(", "));
            faults.push((field, fault));
        } else if !is_quantity(quantity) {
            faults.push((field, format!("`{quantity}` is no quantity such as `100m` or `1Gi`")));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::Kubelet;

    #[test]
    fn the_patch_has_the_kubelets_own_names_and_nothing_that_was_not_said() {
        let text = "maxPods = 40\nimageGCHighThresholdPercent = 80\nimageGCLowThresholdPercent = 70\nkubeReserved = { cpu = '1' }";
        let kubelet: Kubelet = toml::from_str(text).unwrap();
        let expected = json!({
            "maxPods": 40,
            "imageGCHighThresholdPercent": 80,
            "imageGCLowThresholdPercent": 70,
            "kubeReserved": { "cpu": "1" },
        });
        assert_eq!(serde_json::to_value(kubelet.patch()).unwrap(), expected);
        assert!(Kubelet::default().patch().is_empty());
    }

    #[test_case("rotateCertificates = true"; "a field that is not in the list")]
    #[test_case("authentication = { anonymous = { enabled = true } }"; "what would open the node")]
    #[test_case("maxPods = '40'"; "another type")]
    #[test_case("maxPods = -1"; "a negative number")]
    #[test_case("max_pods = 40"; "another spelling")]
    fn refuses_what_is_not_in_the_list(text: &str) {
        assert!(toml::from_str::<Kubelet>(text).is_err());
    }

    #[test_case("maxPods = 0", "maxPods"; "no pods at all")]
    #[test_case("systemReserved = { gpu = '1' }", "systemReserved"; "what cannot be reserved")]
    #[test_case("kubeReserved = { cpu = '-1' }", "kubeReserved"; "a negative reservation")]
    #[test_case("evictionHard = { 'memory.free' = '1Gi' }", "evictionHard"; "an unknown signal")]
    #[test_case("evictionHard = { 'memory.available' = '100%' }", "evictionHard"; "all of it")]
    #[test_case("imageGCHighThresholdPercent = 70", "imageGCHighThresholdPercent"; "a high mark that may lie below the low one")]
    #[test_case("imageGCLowThresholdPercent = 90", "imageGCHighThresholdPercent"; "a low mark that may lie above the high one")]
    #[test_case("imageGCHighThresholdPercent = 70\nimageGCLowThresholdPercent = 70", "imageGCHighThresholdPercent"; "marks that do not differ")]
    #[test_case("imageGCHighThresholdPercent = 101\nimageGCLowThresholdPercent = 70", "imageGCHighThresholdPercent"; "more than all")]
    #[test_case("containerLogMaxSize = '10 MB'", "containerLogMaxSize"; "no quantity")]
    #[test_case("containerLogMaxFiles = 1", "containerLogMaxFiles"; "one file alone")]
    #[test_case("shutdownGracePeriod = '30s'", "shutdownGracePeriod"; "half of a shutdown")]
    #[test_case("shutdownGracePeriod = '30s'\nshutdownGracePeriodCriticalPods = '1m'", "shutdownGracePeriod"; "the part longer than the whole")]
    #[test_case("shutdownGracePeriod = '30'\nshutdownGracePeriodCriticalPods = '10'", "shutdownGracePeriod"; "no unit")]
    fn refuses_what_the_kubelet_refuses(text: &str, field: &str) {
        let faults = toml::from_str::<Kubelet>(text).unwrap().faults();
        assert_eq!(
            faults.iter().map(|(field, _)| *field).collect::<Vec<_>>(),
            [field],
            "{faults:?}"
        );
    }
}
