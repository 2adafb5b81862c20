//! AWS's signature on an instance identity document: PKCS#7 as its metadata service makes it, with lengths left open and the
//! content in segments, by a key of the lab's own.

use std::sync::LazyLock;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_RSA_SHA256, SerialNumber};
use ring::digest::{SHA256, digest};
use rsa::PrivateKey;
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::EncodePrivateKey;
use rsa::sha2::Sha256;
use rsa::signature::{SignatureEncoding, Signer as _};
use rustls::pki_types::PrivatePkcs8KeyDer;

/// The signer's name, and his certificate's number: what a signature names him by.
const NAME: &str = "Amazon Web Services of the lab";
const SERIAL: [u8; 8] = [0x36, 0x4b, 0x2f, 0x5a, 0xd0, 0x09, 0x24, 0xcc];

/// Identifiers of objects: class, form and tag.
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const SEGMENTS: u8 = 0x24;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const CONTEXT: u8 = 0xa0;

const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
const RSA_WITH_SHA_256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const SHA_256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
const NOTHING: &[u8] = &[0x05, 0x00];
const ONE: &[u8] = &[INTEGER, 1, 1];

/// The longest segment, as long as OpenSSL writes them.
const SEGMENT: usize = 4096;

/// Making an RSA key takes a while, and a process plays one region only.
static SIGNER: LazyLock<anyhow::Result<Signer>> = LazyLock::new(Signer::new);

/// Who signs the documents of a region.
#[derive(Debug)]
struct Signer {
    key: PrivateKey,
    certificate: String,
}

impl Signer {
    fn new() -> anyhow::Result<Self> {
        let key = PrivateKey::new(&mut rand::rng(), 2048).context("failed to draw the key of a signer of documents")?;
        let der = key
            .to_pkcs8_der()
            .context("failed to encode the key of a signer of documents")?;
        let der = PrivatePkcs8KeyDer::from(der.as_bytes());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256)
            .context("failed to use the key of a signer of documents")?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, NAME);
        params.serial_number = Some(SerialNumber::from_slice(&SERIAL));
        let certificate = params
            .self_signed(&pair)
            .context("failed to sign the certificate of a signer of documents")?;
        Ok(Self {
            key,
            certificate: certificate.pem(),
        })
    }
}

fn signer() -> anyhow::Result<&'static Signer> {
    SIGNER.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}

/// The certificate that verifies the documents of the region, PEM, as AWS publishes its own.
pub fn certificate() -> anyhow::Result<&'static str> {
    Ok(&signer()?.certificate)
}

/// The document inside its signature, base64 in lines.
pub(super) fn sign(document: &str) -> anyhow::Result<String> {
    let base64 = STANDARD.encode(message(document.as_bytes(), &signer()?.key));
    let mut lines = String::new();
    for (at, character) in base64.chars().enumerate() {
        if at > 0 && at % 76 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    Ok(lines)
}

fn message(content: &[u8], key: &PrivateKey) -> Vec<u8> {
    let segments: Vec<u8> = content
        .chunks(SEGMENT)
        .flat_map(|it| object(OCTET_STRING, &[it]))
        .collect();
    let content_info = open(
        SEQUENCE,
        &[
            &object(IDENTIFIER, &[DATA]),
            &open(CONTEXT, &[&open(SEGMENTS, &[&segments])]),
        ],
    );
    let data = open(
        SEQUENCE,
        &[
            ONE,
            &object(SET, &[&algorithm(SHA_256)]),
            &content_info,
            &object(SET, &[&signer_info(content, key)]),
        ],
    );
    open(
        SEQUENCE,
        &[&object(IDENTIFIER, &[SIGNED_DATA]), &open(CONTEXT, &[&data])],
    )
}

fn signer_info(content: &[u8], key: &PrivateKey) -> Vec<u8> {
    let digest = digest(&SHA256, content);
    let attributes = [
        attribute(CONTENT_TYPE, &object(IDENTIFIER, &[DATA])),
        attribute(MESSAGE_DIGEST, &object(OCTET_STRING, &[digest.as_ref()])),
    ]
    .concat();
    let signature = SigningKey::<Sha256>::new(key.clone()).sign(&object(SET, &[&attributes]));
    let organization = object(
        SEQUENCE,
        &[
            &object(IDENTIFIER, &[ORGANIZATION]),
            &object(UTF8_STRING, &[NAME.as_bytes()]),
        ],
    );
    let issuer = object(SEQUENCE, &[&object(SET, &[&organization])]);
    object(
        SEQUENCE,
        &[
            ONE,
            &object(SEQUENCE, &[&issuer, &object(INTEGER, &[&SERIAL])]),
            &algorithm(SHA_256),
            &object(CONTEXT, &[&attributes]),
            &algorithm(RSA_WITH_SHA_256),
            &object(OCTET_STRING, &[&signature.to_vec()]),
        ],
    )
}

fn algorithm(name: &[u8]) -> Vec<u8> {
    object(SEQUENCE, &[&object(IDENTIFIER, &[name]), NOTHING])
}

fn attribute(name: &[u8], value: &[u8]) -> Vec<u8> {
    object(SEQUENCE, &[&object(IDENTIFIER, &[name]), &object(SET, &[value])])
}

/// An object whose length is given, in as few bytes as it takes.
fn object(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|it| *it == 0).collect();
    let mut object = vec![identifier];
    match significant.as_slice() {
        [] => object.push(0),
        [short @ 0..0x80] => object.push(*short),
        long => {
            object.push(0x80 | u8::try_from(long.len()).unwrap_or_default());
            object.extend(long);
        }
    }
    object.extend(content);
    object
}

/// An object that ends with two zeros.
fn open(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[identifier, 0x80], parts.concat().as_slice(), &[0, 0]].concat()
}
