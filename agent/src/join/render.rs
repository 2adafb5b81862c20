//! What kubeadm reads: JSON, which is YAML too, of the one version that every supported kubeadm speaks.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_api::Secret;
use dynk8s_api::claim::{ClaimAnswer, Taint, TaintEffect};
use serde_json::{Value, json};

use super::plan::{DISCOVERY, Dialect, KUBELET_HEALTH, TLS_BOOTSTRAP, duration};
use crate::facts::Facts;
use crate::names::KUBELET_FILE;

/// The folder of all of this. It holds the token and lives for one try.
pub(super) const FOLDER: &str = "/run/dynk8s/join";

/// The files of the folder, below it.
pub(super) const FILES: [&str; 3] = [
    "config.json",
    "discovery.json",
    "patches/kubeletconfiguration+merge.json",
];

/// A file of the folder.
#[derive(Clone, Debug)]
pub(super) struct Material {
    pub(super) name: &'static str,
    pub(super) content: Secret,
}

/// What the image and its configuration decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host<'a> {
    pub(super) cri_socket: &'a str,
    pub(super) dialect: Dialect,
    /// Swap stays on, and the kubelet must not mind.
    pub(super) keep_swap: bool,
}

/// A value that would change the meaning of kubeadm's flags file, which quotes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {what} `{value}` holds what kubeadm would pass on unquoted to the kubelet's command line; correct it in the node group"
)]
pub(crate) struct Unquotable {
    what: &'static str,
    value: String,
}

/// All files, with the material of one claim in them.
pub(super) fn material(
    facts: &Facts,
    answer: &ClaimAnswer,
    address: IpAddr,
    host: Host<'_>,
) -> Result<Vec<Material>, Unquotable> {
    let file = |name, value: &Value| Material {
        name,
        content: Secret::new(format!("{value:#}\n")),
    };
    let contents = [
        configuration(facts, answer, address, host)?,
        discovery(answer),
        kubelet_patch(answer, host.keep_swap),
    ];
    Ok(FILES
        .into_iter()
        .zip(&contents)
        .map(|(name, it)| file(name, it))
        .collect())
}

/// A kubelet that rotates its certificates draws the key of its first one itself; only one that does not takes the key
/// that the instance claimed. Once it has joined, [`rotating`] lets it rotate. What the node group says comes first, so
/// that it cannot change any of this.
fn kubelet_patch(answer: &ClaimAnswer, keep_swap: bool) -> Value {
    let mut patch = answer.node.kubelet.clone();
    patch.insert("resolvConf".to_owned(), json!(KUBELET_FILE));
    patch.insert("rotateCertificates".to_owned(), json!(false));
    // The cluster's own CA signs what the kubelet shows; whom else could the API server believe?
    patch.insert("serverTLSBootstrap".to_owned(), json!(true));
    if keep_swap {
        patch.insert("failSwapOn".to_owned(), json!(false));
    }
    json!(patch)
}

/// The kubelet's configuration with the rotation of certificates; `None` if nothing is to be changed.
pub(super) fn rotating(configuration: &str) -> Option<String> {
    let changed: String = configuration
        .split_inclusive('\n')
        .map(|line| match line.trim_end() {
            "rotateCertificates: false" => "rotateCertificates: true\n",
            _ => line,
        })
        .collect();
    (changed != configuration).then_some(changed)
}

fn configuration(facts: &Facts, answer: &ClaimAnswer, address: IpAddr, host: Host<'_>) -> Result<Value, Unquotable> {
    let arguments = [
        ("node-ip", address.to_string()),
        ("provider-id", facts.provider_id()),
        ("node-labels", labels(facts, answer)?),
    ];
    let taints: Result<Vec<Value>, _> = answer.node.taints.iter().map(taint).collect();
    let mut configuration = json!({
        "apiVersion": host.dialect.api_version(),
        "kind": "JoinConfiguration",
        "discovery": {
            "file": { "kubeConfigPath": format!("{FOLDER}/discovery.json") },
            "tlsBootstrapToken": answer.token.expose(),
        },
        "nodeRegistration": {
            "name": facts.id,
            "criSocket": host.cri_socket,
            "taints": taints?,
        },
        "patches": { "directory": format!("{FOLDER}/patches") },
    });
    match host.dialect {
        Dialect::V1beta3 => {
            configuration["discovery"]["timeout"] = duration(DISCOVERY).into();
            let arguments: BTreeMap<_, _> = arguments.into();
            configuration["nodeRegistration"]["kubeletExtraArgs"] = json!(arguments);
        }
        Dialect::V1beta4 => {
            configuration["timeouts"] = json!({
                "discovery": duration(DISCOVERY),
                "kubeletHealthCheck": duration(KUBELET_HEALTH),
                "tlsBootstrap": duration(TLS_BOOTSTRAP),
            });
            let arguments = arguments.map(|(name, value)| json!({ "name": name, "value": value }));
            configuration["nodeRegistration"]["kubeletExtraArgs"] = json!(arguments);
        }
    }
    Ok(configuration)
}

/// The kubeconfig for discovery: the server that is reached through the tunnel, and a user, for where anonymous access is
/// off.
fn discovery(answer: &ClaimAnswer) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "cluster",
            "cluster": {
                "server": answer.cluster.server,
                "certificate-authority-data": STANDARD.encode(&answer.cluster.ca),
            },
        }],
        "users": [{ "name": "bootstrap", "user": { "token": answer.token.expose() } }],
        "contexts": [{ "name": "bootstrap", "context": { "cluster": "cluster", "user": "bootstrap" } }],
        "current-context": "bootstrap",
    })
}

/// What a cloud's nodes are labelled with, and what the group says, which counts more.
fn labels(facts: &Facts, answer: &ClaimAnswer) -> Result<String, Unquotable> {
    let mut labels = BTreeMap::from([
        ("node.kubernetes.io/instance-type", facts.instance_type.as_str()),
        ("topology.kubernetes.io/region", &facts.region),
        ("topology.kubernetes.io/zone", &facts.zone),
    ]);
    labels.extend(
        answer
            .node
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    let pairs: Result<Vec<String>, _> = labels
        .iter()
        .map(|(key, value)| {
            Ok(format!(
                "{}={}",
                quotable("label", key)?,
                quotable("label's value", value)?
            ))
        })
        .collect();
    Ok(pairs?.join(","))
}

fn taint(taint: &Taint) -> Result<Value, Unquotable> {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    Ok(json!({
        "key": quotable("taint", &taint.key)?,
        "value": quotable("taint's value", &taint.value)?,
        "effect": effect,
    }))
}

/// Kubernetes admits no other character in labels and taints either.
fn quotable<'a>(what: &'static str, value: &'a str) -> Result<&'a str, Unquotable> {
    if value
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || b"-_./".contains(&it))
    {
        Ok(value)
    } else {
        Err(Unquotable {
            what,
            value: value.chars().take(80).flat_map(char::escape_default).collect(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests;
