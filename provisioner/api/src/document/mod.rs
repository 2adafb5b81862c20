//! The instance identity document inside AWS's signature
//! ([user guide](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-identity-documents.html)), as the metadata
//! service hands it out under `rsa2048`: PKCS#7 in base64.
//!
//! Only read here, by whoever gets it; the provisioner alone verifies the signature.

mod ber;
mod pkcs7;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::InstanceId;

pub use pkcs7::{Signed, SignerId};

/// The longest text, in bytes. AWS's are a fifth of it.
pub const MAX_TEXT: usize = 8 * 1024;

/// What is wrong with a document or its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

/// What is said of the instance, as far as it is needed. AWS adds fields as it likes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// The account that runs the instance.
    pub account_id: String,
    /// The instance.
    pub instance_id: InstanceId,
    /// The region of the instance.
    pub region: String,
    /// When the instance was started last: RFC 3339, UTC.
    pub pending_time: String,
}

impl Document {
    /// Reads what [`Signed::content`] holds.
    pub fn parse(content: &[u8]) -> Result<Self, Malformed> {
        serde_json::from_slice(content).map_err(|_| Malformed("the content is no identity document"))
    }
}

impl Signed {
    /// Reads the text of the metadata service: base64 in lines, and nothing else.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        if text.len() > MAX_TEXT {
            return Err(Malformed("it is too long"));
        }
        let base64: String = text.split('\n').collect();
        let ber = STANDARD
            .decode(base64)
            .map_err(|_| Malformed("it is not base64 in lines"))?;
        pkcs7::parse(&ber)
    }
}
