//! Each check, green and red.

use std::time::Duration;

use serde_json::{Value, json};
use test_case::test_case;

use super::{Finding, Outcome, cluster, network, pool, reach, rights, tags};
use crate::commands::check::facts::{Networks, Probe, Public, Seen};
use crate::commands::check::shipped::Shipped;
use crate::commands::keys::decide::inventory::inventory;
use crate::config::Config;

const DOCUMENT: &str = "[Interface]\nPrivateKey = CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = 10.98.0.2/32\n\
     DNS = 192.168.10.1\n[Peer]\nPublicKey = AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
     AllowedIPs = 10.98.0.0/24, 192.168.10.0/24\nEndpoint = vpn.onprem.example:51820\n";

fn worst(findings: &[Finding]) -> Option<Outcome> {
    let has = |outcome| findings.iter().any(|it| it.outcome == outcome).then_some(outcome);
    has(Outcome::Failed).or(has(Outcome::Warning)).or(has(Outcome::Ok))
}

fn config(server: &str) -> Config {
    let text = include_str!("../../../../testdata/groups.toml");
    toml::from_str(&text.replace("https://api.onprem.example:6443", server)).unwrap()
}

#[test_case(|it| it, Outcome::Ok; "the same")]
#[test_case(|mut it| { it["spec"]["versions"][0]["schema"] = json!({}); it }, Outcome::Failed; "another schema")]
#[test_case(|mut it| { it["spec"]["versions"][0]["served"] = json!(false); it }, Outcome::Failed; "not served")]
#[test_case(|mut it| { it["status"] = json!({ "storedVersions": ["v1alpha1"] }); it }, Outcome::Ok; "a status")]
fn a_definition_is_that_of_this_version(change: fn(Value) -> Value, expected: Outcome) {
    let ours = json!(crate::manifests::crd());
    let theirs = Ok(Some(change(ours.clone())));
    assert_eq!(cluster::definition(&ours, &theirs).outcome, expected);
}

#[test]
fn a_definition_must_be_there() {
    let ours = json!(crate::manifests::crd());
    for theirs in [Ok(None), Err("forbidden".to_owned())] {
        assert_eq!(cluster::definition(&ours, &theirs).outcome, Outcome::Failed);
    }
}

#[test_case(|it| it, Outcome::Ok; "as the API server keeps it")]
#[test_case(|mut it| { it["spec"]["failurePolicy"] = json!("Ignore"); it }, Outcome::Failed; "it fails open")]
#[test_case(|mut it| { it["spec"]["validations"][0]["expression"] = json!("true"); it }, Outcome::Failed; "another expression")]
#[test_case(|mut it| { it["spec"]["validations"].as_array_mut().unwrap().pop(); it }, Outcome::Failed; "one rule less")]
#[test_case(|mut it| { it["spec"]["matchConditions"].as_array_mut().unwrap().push(json!({ "name": "x" })); it }, Outcome::Failed;
    "a condition more")]
#[test_case(|mut it| { it["spec"]["matchConstraints"]["objectSelector"] = json!({ "matchLabels": { "a": "b" } }); it },
    Outcome::Failed; "only some objects")]
#[test_case(|mut it| { it["status"]["typeChecking"]["expressionWarnings"] = json!([{ "warning": "x" }]); it }, Outcome::Failed;
    "the cluster does not understand it")]
fn a_policy_is_the_one_we_ship(change: fn(Value) -> Value, expected: Outcome) {
    for ours in Shipped::new("dynk8s-system").unwrap().policies() {
        if ours["kind"] != "ValidatingAdmissionPolicy" {
            continue;
        }
        let mut theirs = ours.clone();
        theirs["spec"]["matchConstraints"]["matchPolicy"] = json!("Equivalent");
        theirs["spec"]["matchConstraints"]["objectSelector"] = json!({});
        theirs["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = json!("*");
        assert_eq!(
            cluster::policy(ours, &Ok(Some(change(theirs)))).outcome,
            expected,
            "{ours}"
        );
    }
}

#[test_case(json!({ "spec": { "policyName": "dynk8s-nodes", "validationActions": ["Deny"] } }), Outcome::Ok; "as shipped")]
#[test_case(json!({ "spec": { "policyName": "dynk8s-nodes", "validationActions": ["Audit"] } }), Outcome::Failed; "it only tells")]
#[test_case(json!({ "spec": { "policyName": "dynk8s-nodes", "validationActions": ["Deny"],
    "matchResources": { "namespaceSelector": { "matchLabels": { "a": "b" } } } } }), Outcome::Failed; "it holds in some namespaces")]
fn a_binding_is_the_one_we_ship(theirs: Value, expected: Outcome) {
    let shipped = Shipped::new("dynk8s-system").unwrap();
    let is_it =
        |it: &&Value| it["kind"] == "ValidatingAdmissionPolicyBinding" && it["metadata"]["name"] == "dynk8s-nodes";
    let ours = shipped.policies().find(is_it).unwrap();
    assert_eq!(cluster::policy(ours, &Ok(Some(theirs))).outcome, expected);
}

#[test_case(0, true; "none")]
#[test_case(180, true; "as long as a session")]
#[test_case(181, false; "longer")]
fn a_key_rests_longer_than_a_session_lives(seconds: u64, warned: bool) {
    let mut config = config("https://api.onprem.example:6443");
    config.times.key_cooldown = Duration::from_secs(seconds);
    let outcome = cluster::cooldown(&config.times).map(|it| it.outcome);
    assert_eq!(outcome, warned.then_some(Outcome::Warning));
}

#[test_case(&Ok(None), Outcome::Ok; "nobody approves")]
#[test_case(&Ok(Some("by a binding".to_owned())), Outcome::Failed; "everybody is approved")]
#[test_case(&Err("forbidden".to_owned()), Outcome::Failed; "nobody may ask")]
fn approvals_are_ours_alone(reason: &Result<Option<String>, String>, expected: Outcome) {
    assert_eq!(cluster::automatic_approval(reason).outcome, expected);
}

#[test]
fn each_account_has_its_rights_and_no_other() {
    let shipped = Shipped::new("dynk8s-system").unwrap();
    let answer = |rights: Vec<_>, has: bool| Ok(rights.into_iter().map(|it| (it, has)).collect());
    assert_eq!(
        worst(&rights::needed(&answer(shipped.needed(), true))),
        Some(Outcome::Ok)
    );
    assert_eq!(
        worst(&rights::forbidden(&answer(shipped.forbidden(), false))),
        Some(Outcome::Ok)
    );
    assert_eq!(rights::needed(&answer(shipped.needed(), true)).len(), 3);
    for (at, right) in shipped.needed().iter().enumerate() {
        let mut needed: Vec<_> = shipped.needed().into_iter().map(|it| (it, true)).collect();
        needed[at].1 = false;
        let findings = rights::needed(&Ok(needed));
        let failed: Vec<_> = findings.iter().filter(|it| it.outcome == Outcome::Failed).collect();
        assert_eq!(failed.len(), 1);
        assert!(failed[0].found.contains(&right.describe()) && failed[0].found.contains(&right.who.describe()));
    }
    for at in 0..shipped.forbidden().len() {
        let mut forbidden: Vec<_> = shipped.forbidden().into_iter().map(|it| (it, false)).collect();
        forbidden[at].1 = true;
        assert_eq!(worst(&rights::forbidden(&Ok(forbidden))), Some(Outcome::Failed));
    }
}

fn pool_of(document: &str, label: Option<&str>) -> Vec<crate::commands::keys::decide::inventory::Entry> {
    let labels = label.map_or(json!({}), |it| json!({ "dynk8s.du5t1n.me/ec2-instance-id": it }));
    let data = k8s_openapi::ByteString(document.as_bytes().to_vec());
    let secret = json!({ "metadata": { "name": "burst-1", "labels": labels }, "data": { "wireguard-config": data } });
    inventory(&[serde_json::from_value(secret).unwrap()], &[], &[])
}

#[test_case(DOCUMENT, Some(""), Some(Outcome::Ok); "usable")]
#[test_case("[Interface]\nPostUp = reboot\n", Some(""), Some(Outcome::Failed); "an agent would refuse it")]
#[test_case(DOCUMENT, None, Some(Outcome::Warning); "no label")]
#[test_case(&DOCUMENT.replace("192.168.10.1\n", "192.0.2.1\n"), Some(""), Some(Outcome::Warning); "DNS outside of the tunnel")]
#[test_case(DOCUMENT, Some("i-0123456789abcdef0"), Some(Outcome::Failed); "of an instance that nobody knows")]
fn each_key_is_such_as_an_agent_accepts(document: &str, label: Option<&str>, expected: Option<Outcome>) {
    assert_eq!(worst(&pool::documents(&Ok(pool_of(document, label)))), expected);
}

#[test_case(DOCUMENT, "https://api.onprem.example:6443", Outcome::Ok; "nothing overlaps")]
#[test_case(&DOCUMENT.replace("10.98.0.2/32", "10.244.1.2/32"), "https://api.onprem.example:6443", Outcome::Failed;
    "an address of the pods")]
#[test_case(&DOCUMENT.replace("10.98.0.2/32", "10.96.0.2/32"), "https://api.onprem.example:6443", Outcome::Failed;
    "an address of the Services")]
#[test_case(&DOCUMENT.replace("DNS = 192.168.10.1", "DNS = 10.96.0.10"), "https://api.onprem.example:6443", Outcome::Failed;
    "the cluster's own DNS")]
#[test_case(DOCUMENT, "https://192.168.10.10:6443", Outcome::Ok; "the API server's address is behind the gateway")]
#[test_case(DOCUMENT, "https://192.168.11.10:6443", Outcome::Failed; "nothing leads to the API server")]
#[test_case(DOCUMENT, "https://10.96.0.1:443", Outcome::Failed; "the API server as a Service")]
fn networks_do_not_overlap(document: &str, server: &str, expected: Outcome) {
    let networks = Networks {
        pods: vec!["10.244.0.0/16".parse().unwrap()],
        services: vec!["10.96.0.0/16".parse().unwrap()],
    };
    let findings = network::overlaps(&pool_of(document, Some("")), &Ok(networks), Some(&config(server)));
    assert_eq!(worst(&findings), Some(expected), "{findings:?}");
}

#[test]
fn networks_without_number_do_not_fill_the_screen() {
    let of_nodes = |third: u8| format!("10.244.{third}.0/24").parse().unwrap();
    let mut networks = Networks {
        pods: (0..250).map(of_nodes).collect(),
        services: vec!["10.96.0.0/16".parse().unwrap()],
    };
    let told = |networks: &Networks| {
        let findings = network::overlaps(&pool_of(DOCUMENT, Some("")), &Ok(networks.clone()), None);
        findings[0].found.clone()
    };
    let text = told(&networks);
    assert!(text.len() < 150 && text.contains(" more)"), "{text}");
    networks.pods.push("10.244.0.0/16".parse().unwrap());
    let text = told(&networks);
    assert!(text.ends_with("(10.96.0.0/16, 10.244.0.0/16)"), "{text}");
}

#[test_case("192.168.10.1, 192.168.10.2, 192.168.10.3", None; "as many as resolv.conf takes")]
#[test_case("192.168.10.1, 192.168.10.2, 192.168.10.3, 192.168.10.4", Some("192.168.10.4"); "one more")]
#[test_case("192.168.10.1, 192.168.10.2, 192.168.10.3, onprem.example", None; "a domain is no server")]
fn a_fourth_dns_server_is_warned_of(servers: &str, told: Option<&str>) {
    let document = DOCUMENT.replace("DNS = 192.168.10.1", &format!("DNS = {servers}"));
    let findings = pool::documents(&Ok(pool_of(&document, Some(""))));
    let warnings: Vec<_> = findings.iter().filter(|it| it.outcome == Outcome::Warning).collect();
    assert_eq!(warnings.len(), usize::from(told.is_some()), "{findings:?}");
    assert!(
        warnings
            .iter()
            .all(|it| it.found.contains(told.unwrap()) && it.found.contains("resolv.conf"))
    );
}

#[test_case(&Ok(Probe::Answers), Outcome::Ok; "it is")]
#[test_case(&Ok(Probe::Untrusted("unknown issuer".to_owned())), Outcome::Failed; "somebody else")]
#[test_case(&Ok(Probe::Unreachable("timed out".to_owned())), Outcome::Warning; "out of reach")]
#[test_case(&Err("forbidden".to_owned()), Outcome::Failed; "nobody may know its CA")]
fn the_api_server_is_who_it_says(probe: &Seen<Probe>, expected: Outcome) {
    assert_eq!(reach::server(probe).outcome, expected);
}

#[test_case(&Probe::Answers, Outcome::Ok)]
#[test_case(&Probe::Untrusted("unknown issuer".to_owned()), Outcome::Failed)]
#[test_case(&Probe::Unreachable("timed out".to_owned()), Outcome::Failed)]
fn sts_must_answer(probe: &Probe, expected: Outcome) {
    assert_eq!(reach::sts("eu-central-1", probe).outcome, expected);
}

#[test_case(Probe::Answers, true, &[], Outcome::Ok; "ours")]
#[test_case(Probe::Answers, false, &[], Outcome::Failed; "somebody else's")]
#[test_case(Probe::Answers, true, &["/metrics"], Outcome::Failed; "metrics for everybody")]
#[test_case(Probe::Untrusted(String::new()), false, &[], Outcome::Failed; "a certificate of our own")]
#[test_case(Probe::Unreachable(String::new()), false, &[], Outcome::Failed; "nobody there")]
fn the_public_url_leads_to_serve_alone(reached: Probe, is_ours: bool, exposed: &[&str], expected: Outcome) {
    let public = Public {
        url: "https://dynk8s.onprem.example/".to_owned(),
        reached,
        is_ours,
        exposed: exposed.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(worst(&reach::public(&public)), Some(expected));
}

/// The tags that predict the first group of the sample.
fn right_tags(config: &Config) -> std::collections::BTreeMap<String, String> {
    let group = &config.node_groups[0];
    let label = |(name, value): (&String, &String)| (format!("label/{name}"), value.clone());
    let resource = |(name, value): (&String, &String)| (format!("resources/{name}"), value.clone());
    let taint = |it: &dynk8s_api::claim::Taint| {
        (
            format!("taint/{}", it.key),
            format!("{}:{}", it.value, json!(it.effect).as_str().unwrap()),
        )
    };
    let tags = group.labels.iter().map(label).chain(group.taints.iter().map(taint));
    let tags = tags.chain(group.resources.iter().map(resource));
    tags.map(|(tag, value)| (format!("k8s.io/cluster-autoscaler/node-template/{tag}"), value))
        .collect()
}

#[test_case("", "", Outcome::Ok; "they agree")]
#[test_case("label/example.com/disk", "ssd", Outcome::Ok; "a tag that the group allows")]
#[test_case("label/foreign.example/disk", "ssd", Outcome::Failed; "a tag that the group does not allow")]
#[test_case("label/example.com/disk", "s s d", Outcome::Failed; "a value that a kubelet would refuse")]
#[test_case("taint/foreign.example/spot", "true:NoSchedule", Outcome::Failed; "a taint that no node gets")]
#[test_case("resources/foreign.example/fpga", "2", Outcome::Ok; "a resource is the device plugin's")]
fn tags_predict_what_nodes_become(tag: &str, value: &str, expected: Outcome) {
    let config = config("https://api.onprem.example:6443");
    let mut all = right_tags(&config);
    if !tag.is_empty() {
        all.insert(
            format!("k8s.io/cluster-autoscaler/node-template/{tag}"),
            value.to_owned(),
        );
    }
    let findings = tags::compare(&config.node_groups[0], "builders", &all);
    assert_eq!(worst(&findings), Some(expected), "{findings:?}");
}

#[test]
fn a_label_that_no_tag_predicts_is_told() {
    let config = config("https://api.onprem.example:6443");
    let findings = tags::compare(&config.node_groups[0], "builders", &std::collections::BTreeMap::new());
    assert_eq!(worst(&findings), Some(Outcome::Warning));
}
