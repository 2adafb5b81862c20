//! What ties a proof of identity to one claim.
//!
//! The STS request that proves an instance is signed over two headers of ours beside Amazon's own: the audience, so
//! that one cluster's proof is worth nothing at another, and the binding, so that a captured request is worth nothing
//! to anyone who lacks the claim key. The provisioner builds the request again from [`crate::claim::StsProof`] and
//! these constants; nothing free-form is forwarded.

use sha2::{Digest as _, Sha256};

use crate::partition::Partition;
use crate::{InstanceId, PublicKey, VERSION, bytes};

/// The signed header that carries the provisioner's public key in base64.
pub const AUDIENCE_HEADER: &str = "x-dynk8s-audience";

/// The signed header that carries [`binding`].
pub const BINDING_HEADER: &str = "x-dynk8s-binding";

/// The method of the STS request.
pub const STS_METHOD: &str = "POST";

/// The body of the STS request, to the byte ([GetCallerIdentity](https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html)).
pub const STS_BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

/// The media type of [`STS_BODY`], itself a signed header.
pub const STS_CONTENT_TYPE: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// Exactly the headers that are signed, as `SignedHeaders` of Signature Version 4 lists them.
pub const STS_SIGNED_HEADERS: &str =
    "content-type;host;x-amz-date;x-amz-security-token;x-dynk8s-audience;x-dynk8s-binding";

/// The regional STS host ([endpoints](https://docs.aws.amazon.com/general/latest/gr/sts.html)).
pub fn sts_host(region: &str) -> String {
    format!("sts.{region}.{}", Partition::of_region(region).dns_suffix())
}

/// The SHA-256 of the DER `SubjectPublicKeyInfo` of the kubelet's first client key.
pub type KubeletKeyHash = [u8; 32];

/// The value of [`BINDING_HEADER`]: a hash over the instance, the claim key and the kubelet's key, in hexadecimal.
pub fn binding(instance: &InstanceId, claim_key: &PublicKey, kubelet_key: &KubeletKeyHash) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("dynk8s/{VERSION}\nbinding\n{instance}\n"));
    hash.update(claim_key.as_bytes());
    hash.update(kubelet_key);
    bytes::hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::binding;
    use crate::PrivateKey;

    #[test]
    fn depends_on_each_part() {
        let (one, two) = ("i-0123abcd".parse().unwrap(), "i-0123abce".parse().unwrap());
        let (key, other) = (PrivateKey::generate().public(), PrivateKey::generate().public());
        let base = binding(&one, &key, &[7; 32]);
        assert_eq!(base, binding(&one, &key, &[7; 32]));
        assert_eq!(base.len(), 64);
        for different in [
            binding(&two, &key, &[7; 32]),
            binding(&one, &other, &[7; 32]),
            binding(&one, &key, &[8; 32]),
        ] {
            assert_ne!(base, different);
        }
    }
}
