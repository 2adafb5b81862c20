//! Certificates of all kinds. Messages are tested over HTTP, beside the handlers.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use rcgen::{CertificateParams, Issuer, KeyPair, PKCS_RSA_SHA256, PublicKeyData, SignatureAlgorithm};
use rsa::pkcs1::EncodeRsaPublicKey as _;
use test_case::test_case;

use super::Refusal;
use super::certificate::read;
use super::topic::Topic;

static STRONG: LazyLock<RsaKey> = LazyLock::new(|| RsaKey::new(2048));

/// The public half of an RSA key.
struct RsaKey(Vec<u8>);

impl RsaKey {
    fn new(bits: usize) -> Self {
        let key = rsa::PrivateKey::new(&mut rand::rng(), bits).unwrap();
        Self(key.to_public_key().to_pkcs1_der().unwrap().into_vec())
    }
}

impl PublicKeyData for RsaKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_RSA_SHA256
    }
}

/// A certificate for these names and this key, valid for an hour around `time`.
fn certificate(names: &[&str], key: &impl PublicKeyData, time: Timestamp) -> String {
    let issuer_key = KeyPair::generate().unwrap();
    let issuer = Issuer::new(CertificateParams::default(), issuer_key);
    let names: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    let hour = SignedDuration::from_hours(1);
    params.not_before = std::time::SystemTime::from(time - hour).into();
    params.not_after = std::time::SystemTime::from(time + hour).into();
    params.signed_by(key, &issuer).unwrap().pem()
}

fn topic() -> Topic {
    "arn:aws:sns:eu-central-1:123456789012:dynk8s".parse().unwrap()
}

fn now() -> Timestamp {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

fn result(pem: &str) -> Result<(), Refusal> {
    read(pem.as_bytes(), &topic(), now()).map(drop)
}

#[test]
fn takes_the_certificate_of_the_signer() {
    result(&certificate(&["sns.amazonaws.com"], &*STRONG, now())).unwrap();
}

#[test_case(&["sns.eu-central-1.amazonaws.com"]; "the service and not the signer")]
#[test_case(&["*.amazonaws.com"]; "a wildcard")]
#[test_case(&["sns.amazonaws.com.evil.example"]; "a longer name")]
#[test_case(&[]; "no name")]
fn refuses_a_certificate_of_somebody_else(names: &[&str]) {
    assert!(matches!(
        result(&certificate(names, &*STRONG, now())),
        Err(Refusal::NotAuthentic(_))
    ));
}

#[test_case("2026-12-01T10:59:59Z"; "expired")]
#[test_case("2026-12-01T13:00:01Z"; "not valid yet")]
fn refuses_a_certificate_out_of_its_time(time: &str) {
    let pem = certificate(&["sns.amazonaws.com"], &*STRONG, time.parse().unwrap());
    assert!(matches!(result(&pem), Err(Refusal::NotAuthentic(_))));
}

#[test]
fn refuses_weak_and_other_keys() {
    for pem in [
        certificate(&["sns.amazonaws.com"], &RsaKey::new(1024), now()),
        certificate(&["sns.amazonaws.com"], &KeyPair::generate().unwrap(), now()),
    ] {
        assert!(matches!(result(&pem), Err(Refusal::NotAuthentic(_))));
    }
}

#[test_case(""; "nothing")]
#[test_case("<html>"; "a web page")]
#[test_case("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"; "an empty shell")]
#[test_case("-----BEGIN CERTIFICATE-----\n"; "cut off")]
fn refuses_what_is_no_certificate(pem: &str) {
    assert!(matches!(result(pem), Err(Refusal::NotAuthentic(_))));
}
