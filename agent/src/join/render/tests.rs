//! Golden files, and what cannot be written into them.

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
        include_str!("../../../testdata/join/config.v1beta3.json")
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
    assert!(longest < crate::join::plan::LONGEST);
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

#[test_case("config.json", include_str!("../../../testdata/join/config.json"); "the configuration")]
#[test_case("discovery.json", include_str!("../../../testdata/join/discovery.json"); "the kubeconfig for discovery")]
#[test_case("patches/kubeletconfiguration+merge.json", include_str!("../../../testdata/join/patch.json"); "the patch")]
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
