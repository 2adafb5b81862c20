use k8s_openapi::api::core::v1::Node;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData as _};
use serde_json::{Value, json};
use test_case::test_case;

use super::super::request::{NODES, der, instance_of};
use super::*;
use crate::reconcile::decide::pool::Key;
use crate::reconcile::decide::{Case, Join, Observed, decide};
use crate::worker::{State, Wish, Worker, WorkerSpec, WorkerStatus};

const INSTANCE: &str = "i-0123456789abcdef0";

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}

fn hash_of(key: &KeyPair) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, &key.subject_public_key_info());
    BASE64_STANDARD.encode(hash)
}

fn pem(key: &KeyPair, subject: &[(DnType, &str)], names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.distinguished_name = DistinguishedName::new();
    for (kind, value) in subject {
        parameters.distinguished_name.push(kind.clone(), *value);
    }
    parameters.serialize_request(key).unwrap().pem().unwrap()
}

fn kubelets(key: &KeyPair) -> String {
    let name = format!("system:node:{INSTANCE}");
    pem(
        key,
        &[(DnType::OrganizationName, NODES), (DnType::CommonName, &name)],
        &[],
    )
}

/// A request as a kubelet makes it, then changed.
fn request(pem: &str, change: impl FnOnce(&mut Value)) -> CertificateSigningRequest {
    let mut request = json!({
        "metadata": {"name": "csr-1", "resourceVersion": "1"},
        "spec": {
            "signerName": Purpose::Client.signer(),
            "username": "system:bootstrap:abcdef",
            "groups": ["system:bootstrappers", TOKEN_GROUP, "system:authenticated"],
            "usages": ["key encipherment", "digital signature", "client auth"],
            "request": BASE64_STANDARD.encode(pem),
        },
    });
    change(&mut request);
    serde_json::from_value(request).unwrap()
}

fn verdict(request: &CertificateSigningRequest, hash: &str) -> Result<(), Refusal> {
    verify(request, &INSTANCE.parse().unwrap(), "abcdef", hash)
}

#[test]
fn the_kubelets_own_request_is_approved() {
    let key = key();
    let mut request = request(&kubelets(&key), |_| {});
    assert_eq!(verdict(&request, &hash_of(&key)), Ok(()));
    assert_eq!(instance_of(&request).unwrap().as_str(), INSTANCE);
    request.spec.usages = Some(vec!["digital signature".to_owned(), "client auth".to_owned()]);
    assert_eq!(
        verdict(&request, &hash_of(&key)),
        Ok(()),
        "an EC key needs no encipherment"
    );
}

#[test_case("/spec/signerName", &json!("kubernetes.io/kubelet-serving"), Refusal::Signer; "another signer")]
#[test_case("/spec/username", &json!("system:bootstrap:ghijkl"), Refusal::Requester; "the token of another instance")]
#[test_case("/spec/username", &json!("system:bootstrap:abcdefg"), Refusal::Requester; "a longer token id")]
#[test_case("/spec/username", &json!("system:node:i-0123456789abcdef0"), Refusal::Requester; "a node")]
#[test_case("/spec/groups", &json!(["system:bootstrappers"]), Refusal::Requester; "not in our group")]
#[test_case("/spec/usages", &json!(["digital signature", "server auth"]), Refusal::Usages; "a server's usages")]
#[test_case("/spec/usages", &json!(["client auth"]), Refusal::Usages; "a usage too few")]
#[test_case("/spec/usages", &json!(["client auth", "digital signature", "cert sign"]), Refusal::Usages; "a usage too many")]
#[test_case("/spec/usages", &json!(["client auth", "digital signature", "client auth"]), Refusal::Usages; "a usage twice")]
#[test_case("/spec/request", &json!("bm8gcmVxdWVzdA=="), Refusal::Unreadable; "no request")]
fn another_request_is_ignored(place: &str, value: &Value, expected: Refusal) {
    let key = key();
    let request = request(&kubelets(&key), |it| *it.pointer_mut(place).unwrap() = value.clone());
    assert_eq!(verdict(&request, &hash_of(&key)), Err(expected));
}

#[test_case(&[(DnType::OrganizationName, NODES), (DnType::CommonName, "system:node:i-0123456789abcdef1")]; "another node")]
#[test_case(&[(DnType::OrganizationName, NODES), (DnType::CommonName, "i-0123456789abcdef0")]; "no node")]
#[test_case(&[(DnType::OrganizationName, "system:masters"), (DnType::CommonName, "system:node:i-0123456789abcdef0")]; "another group")]
#[test_case(&[(DnType::CommonName, "system:node:i-0123456789abcdef0")]; "no group")]
#[test_case(&[(DnType::OrganizationName, NODES), (DnType::OrganizationalUnitName, "x"), (DnType::CommonName, "system:node:i-0123456789abcdef0")]; "something more")]
fn another_subject_is_ignored(subject: &[(DnType, &str)]) {
    let key = key();
    let request = request(&pem(&key, subject, &[]), |_| {});
    assert_eq!(verdict(&request, &hash_of(&key)), Err(Refusal::Subject));
}

#[test]
fn another_key_is_ignored() {
    assert_eq!(
        verdict(&request(&kubelets(&key()), |_| {}), &hash_of(&key())),
        Err(Refusal::Key)
    );
}

#[test]
fn alternative_names_are_ignored() {
    let key = key();
    let name = format!("system:node:{INSTANCE}");
    let subject = [(DnType::OrganizationName, NODES), (DnType::CommonName, name.as_str())];
    let request = request(&pem(&key, &subject, &["api.onprem.example"]), |_| {});
    assert_eq!(verdict(&request, &hash_of(&key)), Err(Refusal::Attributes));
}

#[test]
fn a_wrong_signature_is_ignored() {
    let key = key();
    let mut altered = der(&request(&kubelets(&key), |_| {})).unwrap();
    let last = altered.len() - 1;
    altered[last] ^= 1;
    let pem = format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        BASE64_STANDARD.encode(&altered)
    );
    assert_eq!(verdict(&request(&pem, |_| {}), &hash_of(&key)), Err(Refusal::Signature));
}

#[test]
fn what_follows_the_request_is_not_ignored() {
    let key = key();
    let twice = kubelets(&key).repeat(2);
    assert_eq!(
        verdict(&request(&twice, |_| {}), &hash_of(&key)),
        Err(Refusal::Unreadable)
    );
}

/// What is decided about a request of an instance that is about to join, after a change of its world.
fn plan(change: impl FnOnce(&mut WorkerStatus, &mut Observed)) -> Vec<Action> {
    let key = key();
    let now = "2026-12-02T00:00:00Z";
    let status = json!({
        "announced": {"state": "running", "account": "123456789012", "region": "eu-central-1", "time": now},
        "claim": {"key": "", "kubeletKey": hash_of(&key), "kubeletVersion": "v1.37.2", "time": now},
        "generation": 1,
        "key": "key-1",
        "token": {"id": "abcdef", "generation": 1, "expires": "2026-12-02T00:12:00Z"},
    });
    let mut status: WorkerStatus = serde_json::from_value(status).unwrap();
    let mut observed = Observed {
        join: Some(Join {
            resource_version: "1".to_owned(),
            token: status.token.clone().unwrap(),
        }),
        requests: vec![request(&kubelets(&key), |_| {})],
        ..Observed::default()
    };
    observed.keys.held.push(Key {
        name: "key-1".to_owned(),
        resource_version: "1".to_owned(),
        addresses: vec![],
        fingerprint: String::new(),
        usable: true,
        double: None,
        shown_by: vec![],
    });
    change(&mut status, &mut observed);
    let spec = WorkerSpec {
        instance_id: INSTANCE.to_owned(),
        wished: Wish::Running,
        forced: false,
    };
    let mut worker = Worker::new(INSTANCE, spec);
    worker.status = Some(status);
    let plan = decide(Case {
        instance: &INSTANCE.parse().unwrap(),
        worker: &worker,
        observed: &observed,
        config: &toml::from_str(include_str!("../../../../../testdata/provisioner.toml")).unwrap(),
        now: now.parse().unwrap(),
        token_id: "ghijkl",
    });
    plan.actions
}

fn approval() -> Action {
    Action::Approve {
        name: "csr-1".to_owned(),
        resource_version: "1".to_owned(),
        purpose: Purpose::Client,
    }
}

#[test]
fn the_request_of_an_instance_that_joins_is_approved() {
    assert!(plan(|_, _| {}).contains(&approval()));
}

type Change = fn(&mut WorkerStatus, &mut Observed);

#[test_case(|_, it| it.node = Some(Node::default()); "a Node of its name is there")]
#[test_case(|it, _| it.joined = Some(it.claim.as_ref().unwrap().time); "it has joined before")]
#[test_case(|it, _| it.contested = Some(it.claim.as_ref().unwrap().time); "it is contested")]
#[test_case(|it, _| it.announced.as_mut().unwrap().state = State::Stopping; "it is stopping")]
#[test_case(|it, _| it.announced.as_mut().unwrap().account = String::new(); "it is not eligible")]
#[test_case(|it, _| it.claim.as_mut().unwrap().reset = Some(1); "its token is of a generation that was reset")]
#[test_case(|_, it| it.join = None; "its token is being replaced")]
#[test_case(|it, _| it.token = None; "its token was not shown")]
#[test_case(|it, _| it.claim.as_mut().unwrap().kubelet_key = String::new(); "its key is another")]
fn otherwise_it_is_not(change: Change) {
    assert!(!plan(change).contains(&approval()));
}
