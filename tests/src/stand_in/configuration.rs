//! What a join is told, read more strictly than kubeadm does: it only warns of what it does not know.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// kubeadm's own.
const TLS_BOOTSTRAP: Duration = Duration::from_mins(5);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JoinConfiguration {
    api_version: String,
    kind: String,
    pub(super) discovery: Discovery,
    pub(super) node_registration: NodeRegistration,
    pub(super) patches: Option<Patches>,
    #[serde(default)]
    timeouts: Timeouts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Discovery {
    pub(super) file: FileDiscovery,
    pub(super) tls_bootstrap_token: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FileDiscovery {
    pub(super) kube_config_path: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patches {
    pub(super) directory: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NodeRegistration {
    pub(super) name: String,
    #[serde(rename = "criSocket")]
    _cri_socket: Option<String>,
    #[serde(default)]
    pub(super) taints: Vec<Taint>,
    #[serde(default)]
    pub(super) kubelet_extra_args: Vec<Argument>,
    #[serde(rename = "ignorePreflightErrors", default)]
    _ignore_preflight_errors: Vec<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Taint {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: String,
    pub(super) effect: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    name: String,
    value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Timeouts {
    tls_bootstrap: Option<SignedDuration>,
    #[serde(rename = "discovery")]
    _discovery: Option<SignedDuration>,
    #[serde(rename = "kubeletHealthCheck")]
    _kubelet_health_check: Option<SignedDuration>,
    #[serde(rename = "kubernetesAPICall")]
    _kubernetes_api_call: Option<SignedDuration>,
}

impl JoinConfiguration {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
        Self::parse(&text).with_context(|| format!("failed to understand `{}`", path.display()))
    }

    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let this: Self = serde_json::from_slice(text)?;
        ensure!(
            this.api_version == "kubeadm.k8s.io/v1beta4",
            "apiVersion {}",
            this.api_version
        );
        ensure!(this.kind == "JoinConfiguration", "kind {}", this.kind);
        for argument in &this.node_registration.kubelet_extra_args {
            // kubeadm writes them into one line of a file, without quotes.
            let unsafe_ = |it: char| it.is_whitespace() || matches!(it, '"' | '\\');
            ensure!(!argument.value.contains(unsafe_), "argument {argument:?} ends its line");
        }
        Ok(this)
    }

    pub(super) fn tls_bootstrap(&self) -> Duration {
        let given = self.timeouts.tls_bootstrap.and_then(|it| it.try_into().ok());
        given.unwrap_or(TLS_BOOTSTRAP)
    }
}

impl NodeRegistration {
    /// The value of one of the kubelet's flags; the last one counts, as for the kubelet.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        let mut named = self.kubelet_extra_args.iter().rev().filter(|it| it.name == name);
        named.next().map(|it| it.value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::*;

    fn right() -> Value {
        json!({
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "discovery": {"file": {"kubeConfigPath": "/run/dynk8s/discovery.conf"}, "tlsBootstrapToken": "aaaaaa.0123456789abcdef"},
            "nodeRegistration": {
                "name": "i-0123456789abcdef0",
                "criSocket": "unix:///run/containerd/containerd.sock",
                "taints": [{"key": "a", "effect": "NoSchedule"}],
                "kubeletExtraArgs": [{"name": "node-ip", "value": "10.98.0.2"}],
            },
            "timeouts": {"tlsBootstrap": "2m0s"},
        })
    }

    fn parse(value: &Value) -> anyhow::Result<JoinConfiguration> {
        JoinConfiguration::parse(value.to_string().as_bytes())
    }

    #[test]
    fn the_right_one_is_read() {
        let configuration = parse(&right()).unwrap();
        assert_eq!(configuration.node_registration.argument("node-ip"), Some("10.98.0.2"));
        assert_eq!(configuration.tls_bootstrap(), Duration::from_mins(2));
    }

    #[test]
    fn what_the_agent_renders_is_understood() {
        let configuration = include_bytes!("../../../agent/testdata/join/config.json");
        let configuration = JoinConfiguration::parse(configuration).unwrap();
        assert_eq!(configuration.node_registration.argument("node-ip"), Some("10.98.0.2"));
    }

    #[test_case("/apiVersion", json!("kubeadm.k8s.io/v1beta3"); "removed version")]
    #[test_case("/kind", json!("InitConfiguration"); "another kind")]
    #[test_case("/discovery", json!({"bootstrapToken": {}, "tlsBootstrapToken": "t"}); "discovery by token")]
    #[test_case("/nodeRegistration", json!({"name": "i", "nodeName": "i"}); "unknown field")]
    #[test_case("/nodeRegistration/taints", json!([{"key": "a"}]); "taint without effect")]
    #[test_case("/nodeRegistration/kubeletExtraArgs", json!({"node-ip": "10.98.0.2"}); "arguments as a map")]
    #[test_case("/nodeRegistration/kubeletExtraArgs/0/value", json!("a --b"); "argument with a space")]
    #[test_case("/timeouts/tlsBootstrap", json!("soon"); "timeout without unit")]
    fn a_wrong_one_is_refused(pointer: &str, value: Value) {
        let mut wrong = right();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(parse(&wrong).is_err());
    }
}
