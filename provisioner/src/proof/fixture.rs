//! Identity documents for tests, with AWS's part played by a key of our own.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256, SerialNumber};
use ring::digest::{SHA256, digest};
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::EncodePrivateKey as _;
use rsa::sha2::Sha256;
use rsa::signature::{SignatureEncoding as _, Signer as _};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tempfile::TempDir;
use x509_parser::pem::parse_x509_pem;

use super::certificates::Certificates;

const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const SHA_256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// Making an RSA key takes a while.
static KEY: LazyLock<rsa::PrivateKey> = LazyLock::new(new_key);
static PEM: LazyLock<String> = LazyLock::new(|| certificate(&KEY));

fn new_key() -> rsa::PrivateKey {
    rsa::PrivateKey::new(&mut rand::rng(), 2048).unwrap()
}

fn certificate(key: &rsa::PrivateKey) -> String {
    let der = key.to_pkcs8_der().unwrap();
    let der = PrivatePkcs8KeyDer::from(der.as_bytes());
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256).unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.serial_number = Some(SerialNumber::from(7_u64));
    params.self_signed(&key).unwrap().pem()
}

/// The certificate of who signs here.
pub(crate) fn pem() -> String {
    PEM.clone()
}

/// The same names on another key.
pub(crate) fn pem_of_another_key() -> String {
    certificate(&new_key())
}

/// AWS's certificates, and one more.
pub(crate) fn certificates(region: &str, pem: &str) -> Certificates {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join(format!("{region}.pem")), pem).unwrap();
    let (certificates, unusable) = Certificates::with_folder(folder.path());
    assert_eq!(unusable, []);
    certificates
}

/// What AWS says of an instance.
pub(crate) fn content(instance: &str) -> String {
    format!(
        "{{\n  \"accountId\" : \"123456789012\",\n  \"architecture\" : \"x86_64\",\n  \"imageId\" : \"ami-0123456789abcdef0\",\n  \
         \"instanceId\" : \"{instance}\",\n  \"pendingTime\" : \"2026-12-01T12:00:00Z\",\n  \"region\" : \"eu-central-1\"\n}}"
    )
}

static CONTENT: LazyLock<String> = LazyLock::new(|| content("i-0123456789abcdef0"));

/// A signed document: BER with lengths left open and a content in segments.
pub(crate) struct Made<'a> {
    pub(crate) content: &'a str,
    /// What is signed in the content's place.
    pub(crate) signs: Option<&'a str>,
    /// A certificate inside.
    pub(crate) embeds: Option<&'a str>,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self {
            content: &CONTENT,
            signs: None,
            embeds: None,
        }
    }
}

impl Made<'_> {
    /// As the metadata service hands it out.
    pub(crate) fn text(&self) -> String {
        let base64 = STANDARD.encode(self.encode());
        let lines: Vec<_> = base64
            .as_bytes()
            .chunks(76)
            .map(|it| str::from_utf8(it).unwrap())
            .collect();
        lines.join("\n")
    }

    fn encode(&self) -> Vec<u8> {
        let segments: Vec<u8> = self
            .content
            .as_bytes()
            .chunks(100)
            .flat_map(|it| closed(0x04, &[it]))
            .collect();
        let content = open(
            0x30,
            &[&closed(0x06, &[DATA]), &open(0xa0, &[&open(0x24, &[&segments])])],
        );
        let embedded = self.embeds.map_or_else(Vec::new, |pem| {
            let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
            closed(0xa0, &[&pem.contents])
        });
        let data = open(
            0x30,
            &[
                &[0x02, 0x01, 0x01],
                &closed(0x31, &[&algorithm(SHA_256)]),
                &content,
                &embedded,
                &closed(0x31, &[&self.signer()]),
            ],
        );
        open(0x30, &[&closed(0x06, &[SIGNED_DATA]), &open(0xa0, &[&data])])
    }

    fn signer(&self) -> Vec<u8> {
        let digest = digest(&SHA256, self.signs.unwrap_or(self.content).as_bytes());
        let attributes = [
            attribute(CONTENT_TYPE, &closed(0x06, &[DATA])),
            attribute(MESSAGE_DIGEST, &closed(0x04, &[digest.as_ref()])),
        ]
        .concat();
        let signature = SigningKey::<Sha256>::new(KEY.clone()).sign(&closed(0x31, &[&attributes]));
        let (_, pem) = parse_x509_pem(PEM.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        let issuer = certificate.issuer().as_raw();
        let name = closed(0x30, &[issuer, &closed(0x02, &[certificate.raw_serial()])]);
        closed(
            0x30,
            &[
                &[0x02, 0x01, 0x01],
                &name,
                &algorithm(SHA_256),
                &closed(0xa0, &[&attributes]),
                &algorithm(RSA),
                &closed(0x04, &[&signature.to_vec()]),
            ],
        )
    }
}

fn closed(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let length = match content.len() {
        0..0x80 => &length[7..],
        0x80..0x100 => &[0x81, length[7]],
        _ => &[0x82, length[6], length[7]],
    };
    [&[identifier], length, &content].concat()
}

fn open(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[identifier, 0x80], &parts.concat()[..], &[0, 0]].concat()
}

fn algorithm(name: &[u8]) -> Vec<u8> {
    closed(0x30, &[&closed(0x06, &[name]), &[0x05, 0x00]])
}

fn attribute(name: &[u8], value: &[u8]) -> Vec<u8> {
    closed(0x30, &[&closed(0x06, &[name]), &closed(0x31, &[value])])
}
