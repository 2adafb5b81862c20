use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};
use test_case::test_case;

use super::super::request::der;
use super::*;

const INSTANCE: &str = "i-0123456789abcdef0";

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

fn ip(address: &str) -> SanType {
    SanType::IpAddress(address.parse().unwrap())
}

fn parameters(names: Vec<SanType>) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, NODES);
    let name = format!("system:node:{INSTANCE}");
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.subject_alt_names = names;
    parameters
}

/// A request as a kubelet makes it, then changed.
fn request(parameters: &CertificateParams, change: impl FnOnce(&mut Value)) -> CertificateSigningRequest {
    let key = KeyPair::generate().unwrap();
    let pem = parameters.serialize_request(&key).unwrap().pem().unwrap();
    let mut request = json!({
        "metadata": {"name": "csr-1", "resourceVersion": "1"},
        "spec": {
            "signerName": "kubernetes.io/kubelet-serving",
            "username": format!("system:node:{INSTANCE}"),
            "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"],
            "request": BASE64_STANDARD.encode(pem),
        },
    });
    change(&mut request);
    serde_json::from_value(request).unwrap()
}

fn right() -> CertificateParams {
    parameters(vec![dns(INSTANCE), ip("10.98.0.2")])
}

/// The key's document has two addresses.
fn verdict(request: &CertificateSigningRequest) -> Result<(), Refusal> {
    let addresses = ["10.98.0.2", "fd00::2"].map(|it| it.parse().unwrap());
    verify(request, &INSTANCE.parse().unwrap(), &addresses)
}

#[test_case(vec![dns(INSTANCE), ip("10.98.0.2")]; "the first address")]
#[test_case(vec![dns(INSTANCE), ip("fd00::2")]; "the second address")]
#[test_case(vec![ip("10.98.0.2"), dns(INSTANCE), ip("fd00::2")]; "both")]
fn the_names_of_the_node_are_approved(names: Vec<SanType>) {
    assert_eq!(verdict(&request(&parameters(names), |_| {})), Ok(()));
}

#[test_case(vec![]; "none")]
#[test_case(vec![dns(INSTANCE)]; "no address")]
#[test_case(vec![ip("10.98.0.2")]; "no host")]
#[test_case(vec![dns(INSTANCE), ip("10.98.0.3")]; "the address of another node")]
#[test_case(vec![dns(INSTANCE), ip("10.98.0.2"), ip("192.168.10.10")]; "an address too many")]
#[test_case(vec![dns(INSTANCE), ip("::ffff:10.98.0.2")]; "its address in another form")]
#[test_case(vec![dns("i-0123456789abcdef1"), ip("10.98.0.2")]; "another node")]
#[test_case(vec![dns(INSTANCE), dns("api.onprem.example"), ip("10.98.0.2")]; "a host too many")]
#[test_case(vec![dns(INSTANCE), dns(INSTANCE), ip("10.98.0.2")]; "the same host twice")]
#[test_case(vec![dns("*.onprem.example"), ip("10.98.0.2")]; "a pattern")]
#[test_case(vec![dns(INSTANCE), ip("10.98.0.2"), SanType::URI("spiffe://x/y".try_into().unwrap())]; "a URI")]
#[test_case(vec![dns(INSTANCE), ip("10.98.0.2"), SanType::Rfc822Name("a@b.example".try_into().unwrap())]; "an e-mail address")]
fn other_names_are_ignored(names: Vec<SanType>) {
    assert_eq!(verdict(&request(&parameters(names), |_| {})), Err(Refusal::Names));
}

#[test_case("/spec/signerName", &json!("kubernetes.io/kube-apiserver-client-kubelet"), Refusal::Signer; "another signer")]
#[test_case("/spec/username", &json!("system:node:i-0123456789abcdef1"), Refusal::Node; "another node")]
#[test_case("/spec/username", &json!("system:bootstrap:abcdef"), Refusal::Node; "a token")]
#[test_case("/spec/username", &json!("i-0123456789abcdef0"), Refusal::Node; "a user of its name")]
#[test_case("/spec/groups", &json!(["system:authenticated"]), Refusal::Node; "not in the group of nodes")]
#[test_case("/spec/usages", &json!(["digital signature", "client auth"]), Refusal::Usages; "a client's usages")]
#[test_case("/spec/usages", &json!(["digital signature", "server auth", "client auth"]), Refusal::Usages; "a client's usage too")]
#[test_case("/spec/usages", &json!(["server auth"]), Refusal::Usages; "a usage too few")]
#[test_case("/spec/usages", &json!(["digital signature", "server auth", "cert sign"]), Refusal::Usages; "a usage too many")]
#[test_case("/spec/request", &json!("bm8gcmVxdWVzdA=="), Refusal::Unreadable; "no request")]
fn another_request_is_ignored(place: &str, value: &Value, expected: Refusal) {
    let request = request(&right(), |it| *it.pointer_mut(place).unwrap() = value.clone());
    assert_eq!(verdict(&request), Err(expected));
}

#[test_case(3600, Ok(()); "an hour")]
#[test_case(365 * 24 * 3600, Ok(()); "a year")]
#[test_case(10 * 365 * 24 * 3600, Err(Refusal::Validity); "ten years")]
fn a_certificate_lives_a_year_at_most(seconds: i32, expected: Result<(), Refusal>) {
    let request = request(&right(), |it| it["spec"]["expirationSeconds"] = json!(seconds));
    assert_eq!(verdict(&request), expected);
}

#[test]
fn an_rsa_key_may_encipher() {
    let usages = json!(["key encipherment", "digital signature", "server auth"]);
    let request = request(&right(), |it| it["spec"]["usages"] = usages);
    assert_eq!(verdict(&request), Ok(()));
}

#[test]
fn another_subject_is_ignored() {
    let mut parameters = right();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, NODES);
    parameters
        .distinguished_name
        .push(DnType::CommonName, "system:node:i-0123456789abcdef1");
    assert_eq!(verdict(&request(&parameters, |_| {})), Err(Refusal::Subject));
}

#[test]
fn another_extension_is_ignored() {
    let mut parameters = right();
    parameters.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    assert_eq!(verdict(&request(&parameters, |_| {})), Err(Refusal::Names));
}

#[test]
fn a_wrong_signature_is_ignored() {
    let mut altered = der(&request(&right(), |_| {})).unwrap();
    *altered.last_mut().unwrap() ^= 1;
    let pem = format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        BASE64_STANDARD.encode(&altered)
    );
    let request = request(&right(), |it| {
        it["spec"]["request"] = json!(BASE64_STANDARD.encode(pem));
    });
    assert_eq!(verdict(&request), Err(Refusal::Signature));
}
