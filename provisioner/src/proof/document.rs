//! The identity document: which instance AWS says that it is, in AWS's own signature.
//!
//! Nothing in it knows of a claim, so it proves that somebody has read the instance's metadata since it was started.

use dynk8s_api::InstanceId;
use dynk8s_api::document::{Document, Malformed, Signed};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

use super::certificates::Signer;
use crate::aws;

/// What a verified document says beyond what was expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documented {
    pub account: String,
    /// When the instance was started last.
    pub pending: Timestamp,
}

/// Why a document proves nothing. The caller is not told which it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the identity document is malformed: {0}")]
    Malformed(#[from] Malformed),
    #[error("the identity document's signer is none of the region's")]
    Stranger,
    #[error("the identity document's signature does not fit")]
    Altered,
    #[error("the identity document is of the {what} `{found}`")]
    Another { what: &'static str, found: String },
}

/// Verifies the text that the metadata service handed out. It must be of this instance and this region, and signed by one
/// of the region's signers.
pub fn verify(text: &str, instance: &InstanceId, region: &str, signers: &[Signer]) -> Result<Documented, Refusal> {
    let signed = Signed::parse(text)?;
    let region_key = signers
        .iter()
        .find(|it| it.id == signed.signer)
        .ok_or(Refusal::Stranger)?;
    check_signature(&signed, region_key)?;
    let document = Document::parse(&signed.content)?;
    let another = |what, found: &str| Refusal::Another {
        what,
        found: found.chars().take(40).flat_map(char::escape_default).collect(),
    };
    if document.instance_id != *instance {
        return Err(another("instance", document.instance_id.as_str()));
    }
    if document.region != region {
        return Err(another("region", &document.region));
    }
    if !aws::is_account(&document.account_id) {
        return Err(another("account", &document.account_id));
    }
    let pending = document.pending_time.parse();
    Ok(Documented {
        pending: pending.map_err(|_| another("time", &document.pending_time))?,
        account: document.account_id,
    })
}

/// The signature covers the attributes, and these the content by its digest.
fn check_signature(signed: &Signed, by: &Signer) -> Result<(), Refusal> {
    if digest(&SHA256, &signed.content).as_ref() != signed.digest {
        return Err(Refusal::Altered);
    }
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &by.key)
        .verify(&signed.attributes, &signed.signature)
        .map_err(|_| Refusal::Altered)
}

#[cfg(test)]
mod tests;
