//! What kubeadm reads: JSON, which is YAML too, of the one version that every supported kubeadm speaks.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_api::Secret;
use dynk8s_api::claim::{ClaimAnswer, Taint, TaintEffect};
use serde_json::{Value, json};

use super::plan::Dialect;
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

const DISCOVERY: &str = "1m0s";

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
            configuration["discovery"]["timeout"] = DISCOVERY.into();
            let arguments: BTreeMap<_, _> = arguments.into();
            configuration["nodeRegistration"]["kubeletExtraArgs"] = json!(arguments);
        }
        Dialect::V1beta4 => {
            // Two tries fit into the time that the autoscaler gives a machine.
            configuration["timeouts"] =
                json!({ "discovery": DISCOVERY, "kubeletHealthCheck": "2m0s", "tlsBootstrap": "1m30s" });
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
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use dynk8s_api::claim::{ClaimAnswer, Cluster, NodeSettings, Taint, TaintEffect};
    use jiff::SignedDuration;
    use serde_json::json;
    use test_case::test_case;

    use super::{Dialect, Host, Material, material, rotating};
    use crate::config::Deadlines;
    use crate::facts::Facts;

    pub(crate) fn facts() -> Facts {
        Facts {
            id: "i-0123456789abcdef0".parse().unwrap(),
            instance_type: "m7g.large".to_owned(),
            zone: "eu-central-1a".to_owned(),
            region: "eu-central-1".to_owned(),
            account: "123456789012".to_owned(),
            address: None,
            mac: None,
            lifecycle: None,
            vpc: Vec::new(),
            signed: None,
        }
    }

    fn answer() -> ClaimAnswer {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        ClaimAnswer {
            generation: 1,
            wireguard: String::new().into(),
            cluster: Cluster {
                server: "https://api.onprem.example:6443".to_owned(),
                ca: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n".to_owned(),
                version: "v1.37.2".to_owned(),
            },
            token: "abcdef.0123456789abcdef".to_owned().into(),
            node: NodeSettings {
                labels: [label("zone", "burst"), label("dynk8s.du5t1n.me/group", "burst")].into(),
                taints: vec![Taint {
                    key: "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s".to_owned(),
                    value: String::new(),
                    effect: TaintEffect::NoSchedule,
                }],
                kubelet: BTreeMap::new(),
            },
        }
    }

    const HOST: Host<'static> = Host {
        cri_socket: "unix:///run/containerd/containerd.sock",
        dialect: Dialect::V1beta4,
        keep_swap: false,
    };

    fn rendered(answer: &ClaimAnswer) -> Result<Vec<Material>, super::Unquotable> {
        material(&facts(), answer, "10.98.0.2".parse().unwrap(), HOST)
    }

    #[test]
    fn renders_what_an_older_kubeadm_reads() {
        let dialect = Dialect::V1beta3;
        let material = material(
            &facts(),
            &answer(),
            "10.98.0.2".parse().unwrap(),
            Host { dialect, ..HOST },
        )
        .unwrap();
        assert_eq!(
            material[0].content.expose(),
            include_str!("../../testdata/join/config.v1beta3.json")
        );
    }

    #[test]
    fn two_tries_fit_into_the_time_of_claim_and_join() {
        let material = rendered(&answer()).unwrap();
        let configuration: serde_json::Value = serde_json::from_str(material[0].content.expose()).unwrap();
        let timeouts = configuration["timeouts"].as_object().unwrap().values();
        let length = |it: &serde_json::Value| it.as_str().unwrap().parse().unwrap();
        let longest = timeouts
            .map(length)
            .fold(SignedDuration::ZERO, |sum, it: SignedDuration| sum + it);
        let longest = Duration::try_from(longest).unwrap();
        assert!(longest < crate::join::LONGEST);
        assert!(2 * longest + Duration::from_mins(1) <= Deadlines::default().together());
    }

    #[test]
    fn lets_the_kubelet_live_with_swap_where_it_is_kept() {
        let keep_swap = true;
        let material = material(
            &facts(),
            &answer(),
            "10.98.0.2".parse().unwrap(),
            Host { keep_swap, ..HOST },
        )
        .unwrap();
        assert!(material[2].content.expose().contains("\"failSwapOn\": false"));
    }

    #[test_case("config.json", include_str!("../../testdata/join/config.json"); "the configuration")]
    #[test_case("discovery.json", include_str!("../../testdata/join/discovery.json"); "the kubeconfig for discovery")]
    #[test_case("patches/kubeletconfiguration+merge.json", include_str!("../../testdata/join/patch.json"); "the patch")]
    fn renders(name: &str, expected: &str) {
        let material = rendered(&answer()).unwrap();
        let file = material.iter().find(|it| it.name == name).unwrap();
        assert_eq!(file.content.expose(), expected);
    }

    #[test_case("with space", "x"; "a space in a label")]
    #[test_case("a", "x --provider-id=evil"; "a flag in a value")]
    #[test_case("a", "x\""; "a quote")]
    #[test_case("a", "x\nY=z"; "a line of its own")]
    #[test_case("a", "$HOME"; "a variable")]
    #[test_case("a", "b,c=d"; "another label in a value")]
    fn refuses_labels_that_kubeadm_would_not_quote(key: &str, value: &str) {
        let mut answer = answer();
        answer.node.labels.insert(key.to_owned(), value.to_owned());
        let error = rendered(&answer).unwrap_err().to_string();
        assert!(error.contains("label") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn refuses_taints_that_kubeadm_would_not_quote() {
        let mut answer = answer();
        answer.node.taints[0].value = "x --y".to_owned();
        assert!(rendered(&answer).unwrap_err().to_string().contains("taint"));
    }

    #[test]
    fn the_group_changes_the_kubelets_configuration_but_nothing_that_the_join_needs() {
        let mut answer = answer();
        let said = json!({ "maxPods": 40, "resolvConf": "/etc/resolv.conf", "rotateCertificates": true });
        answer.node.kubelet = serde_json::from_value(said).unwrap();
        let material = rendered(&answer).unwrap();
        let patch: serde_json::Value = serde_json::from_str(material[2].content.expose()).unwrap();
        let expected = json!({
            "maxPods": 40,
            "resolvConf": "/etc/dynk8s/resolv.conf",
            "rotateCertificates": false,
            "serverTLSBootstrap": true,
        });
        assert_eq!(patch, expected);
    }

    #[test]
    fn lets_the_kubelet_rotate_its_certificates_once_it_has_one() {
        let before = "kind: KubeletConfiguration\nrotateCertificates: false\nstaticPodPath: /x\n";
        let after = rotating(before).unwrap();
        assert_eq!(
            after,
            "kind: KubeletConfiguration\nrotateCertificates: true\nstaticPodPath: /x\n"
        );
        assert_eq!(rotating(&after), None);
    }

    #[test]
    fn the_group_has_the_last_word_about_a_label() {
        let mut answer = answer();
        let zone = "topology.kubernetes.io/zone";
        answer.node.labels = [(zone.to_owned(), "on-premises".to_owned())].into();
        let material = rendered(&answer).unwrap();
        let configuration = material[0].content.expose();
        assert!(
            configuration.contains(&format!("{zone}=on-premises")),
            "{configuration}"
        );
        assert!(!configuration.contains(&format!("{zone}=eu")), "{configuration}");
    }
}
