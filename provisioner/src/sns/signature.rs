//! Signatures of SNS: RSASSA-PKCS1-v1_5, in version 2 with SHA-256, in version 1 with SHA-1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::signature::{RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use x509_parser::oid_registry::OID_PKCS1_RSAENCRYPTION;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::Refusal;
use super::message::Message;

const MIN_BITS: usize = 2048;

/// A version of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 1
    Sha1,
    /// 2
    Sha256,
}

/// The public key of a signer, and when its certificate is valid.
#[derive(Debug)]
pub struct SignerKey {
    /// DER `RSAPublicKey`.
    key: Vec<u8>,
    from: Timestamp,
    until: Timestamp,
}

impl SignerKey {
    pub(super) fn new(info: &SubjectPublicKeyInfo<'_>, from: Timestamp, until: Timestamp) -> Result<Self, Refusal> {
        let refused = || Refusal::NotAuthentic(format!("its certificate has no RSA key of {MIN_BITS} bits"));
        if info.algorithm.algorithm != OID_PKCS1_RSAENCRYPTION {
            return Err(refused());
        }
        match info.parsed() {
            Ok(PublicKey::RSA(key)) if key.key_size() >= MIN_BITS => Ok(Self {
                key: info.subject_public_key.data.to_vec(),
                from,
                until,
            }),
            _ => Err(refused()),
        }
    }

    pub(super) fn is_valid_at(&self, now: Timestamp) -> bool {
        (self.from..=self.until).contains(&now)
    }
}

/// Whether the message is what the holder of the key signed.
pub fn verify(key: &SignerKey, message: &Message, version: Version) -> Result<(), Refusal> {
    let refused = || Refusal::NotAuthentic("its signature does not fit".to_owned());
    let signature = STANDARD.decode(&message.signature).map_err(|_| refused())?;
    let algorithm = match version {
        Version::Sha1 => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
        Version::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
    };
    UnparsedPublicKey::new(algorithm, &key.key)
        .verify(message.signed.as_bytes(), &signature)
        .map_err(|_| refused())
}
