//! What a document may hold, and the ways in which it can be wrong.

use serde_json::{Value, json};
use test_case::test_case;

use super::{Error, Facts, networks};

fn document() -> Value {
    json!({
        "accountId": "123456789012",
        "architecture": "x86_64",
        "availabilityZone": "eu-central-1a",
        "instanceId": "i-0123456789abcdef0",
        "instanceType": "t3.medium",
        "privateIp": "172.31.0.10",
        "region": "eu-central-1",
    })
}

#[test]
fn reads_what_aws_documents() {
    let mut document = document();
    document["instanceType"] = json!("m7i-flex.large");
    let facts = Facts::parse(&document.to_string(), Some("0a:ff:00:00:00:01\n".to_owned()), None).unwrap();
    assert_eq!(facts.provider_id(), "aws:///eu-central-1a/i-0123456789abcdef0");
    assert_eq!(facts.mac.as_deref(), Some("0a:ff:00:00:00:01"));
    assert_eq!(facts.address, Some("172.31.0.10".parse().unwrap()));
}

const SIGNED: &str = include_str!("../../../../provisioner/api/testdata/identity-document.rsa2048");

#[test]
fn takes_a_signed_document_that_says_the_same() {
    let facts = || Facts::parse(&document().to_string(), None, None).unwrap();
    let signed = facts().with_signed(Some(SIGNED.to_owned())).unwrap().signed;
    assert_eq!(signed.unwrap().expose(), SIGNED);
    assert!(
        facts().with_signed(None).unwrap().signed.is_none(),
        "an emulator may have none"
    );
}

#[test_case("instanceId", "i-0123456789abcdef1"; "another instance")]
#[test_case("accountId", "999999999999"; "another account")]
#[test_case("region", "eu-west-1"; "another region")]
#[test_case("availabilityZone", "eu-central-1b"; "another zone")]
#[test_case("instanceType", "p5.48xlarge"; "another type")]
fn refuses_what_the_signed_document_denies(field: &str, value: &str) {
    let right = document()[field].clone();
    let mut document = document();
    document[field] = json!(value);
    let facts = Facts::parse(&document.to_string(), None, None).unwrap();
    let error = facts.with_signed(Some(SIGNED.to_owned())).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Disagree { .. }), "{text}");
    assert!(
        text.contains(value) && text.contains(right.as_str().unwrap()) && text.contains("signed"),
        "{text}"
    );
}

#[test_case(""; "nothing")]
#[test_case("<html>"; "a page")]
#[test_case("MIAG"; "a document that is cut off")]
fn refuses_a_signed_document_that_is_none(text: &str) {
    let facts = Facts::parse(&document().to_string(), None, None).unwrap();
    let error = facts.with_signed(Some(text.to_owned())).unwrap_err().to_string();
    assert!(error.contains("rsa2048"), "{error}");
}

#[test_case("instanceId", "i-x"; "no instance id")]
#[test_case("accountId", "12345678901"; "eleven digits")]
#[test_case("availabilityZone", "eu-central-1a/../x"; "a path for a zone")]
#[test_case("availabilityZone", ""; "no zone")]
#[test_case("region", "eu central"; "a space in the region")]
#[test_case("instanceType", "m7i\" --x"; "an argument for a type")]
#[test_case("privateIp", "172.31.0"; "no address")]
fn refuses_what_aws_does_not_document(field: &str, value: &str) {
    let mut document = document();
    document[field] = json!(value);
    let error = Facts::parse(&document.to_string(), None, None).unwrap_err().to_string();
    assert!(error.contains("instance-identity/document"), "{error}");
}

#[test_case(None, None, true; "nothing to compare")]
#[test_case(Some("i-0123456789abcdef0\n"), Some("eu-central-1a"), true; "the same")]
#[test_case(Some("i-0123456789abcdef1"), None, false; "another instance")]
#[test_case(None, Some("eu-central-1b"), false; "another zone")]
fn must_agree_with_the_metadata(id: Option<&str>, zone: Option<&str>, expected: bool) {
    let facts = Facts::parse(&document().to_string(), None, None).unwrap();
    assert_eq!(facts.agree(id, zone).is_ok(), expected);
}

#[test_case("0a:ff:00:00:00:01", true; "a card")]
#[test_case("../../latest/user-data", false; "a path")]
#[test_case("", false; "nothing")]
fn takes_for_a_card_what_is_one(mac: &str, expected: bool) {
    let facts = Facts::parse(&document().to_string(), Some(mac.to_owned()), None).unwrap();
    assert_eq!(facts.mac.is_some(), expected);
}

#[test_case(&[], Some(&[]); "no list")]
#[test_case(&["172.31.0.0/16\n100.64.0.0/16\n", "2001:db8::/56"], Some(&["172.31.0.0/16", "100.64.0.0/16", "2001:db8::/56"]); "both families")]
#[test_case(&["172.31.9.9/16"], Some(&["172.31.0.0/16"]); "host bits")]
#[test_case(&["<html>"], None; "something else")]
#[test_case(&["10.0.0.0/24\n".repeat(40).as_str(), "10.0.0.0/24\n".repeat(25).as_str()], None; "more than a VPC can have")]
fn reads_the_networks_of_the_vpc(lists: &[&str], expected: Option<&[&str]>) {
    let lists: Vec<_> = lists.iter().map(|it| Some((*it).to_owned())).collect();
    let expected = expected.map(|it| it.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>());
    assert_eq!(networks(&lists).ok(), expected);
}
