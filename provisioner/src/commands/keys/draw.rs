//! New keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_api::{PrivateKey, PublicKey, Secret};
use rand::Rng as _;
use zeroize::Zeroizing;

/// A new private key and its public half.
pub(super) fn pair() -> (Secret, PublicKey) {
    let key = PrivateKey::generate();
    (key.to_secret(), key.public())
}

/// A new preshared key: any 32 bytes are one.
pub(super) fn preshared() -> Secret {
    let mut bytes = Zeroizing::new([0; 32]);
    rand::rng().fill_bytes(&mut bytes[..]);
    Secret::new(STANDARD.encode(&bytes[..]))
}
