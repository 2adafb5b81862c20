//! Sealed envelopes: HPKE ([RFC 9180]) in Auth mode, both ways.
//!
//! TLS ends at an ingress, whose keeper could otherwise hand a node a tunnel and a cluster of his own. One cipher suite
//! and no negotiation: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305.
//!
//! [RFC 9180]: https://www.rfc-editor.org/rfc/rfc9180

use std::fmt;
use std::str::FromStr;

use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable as _, Kem as _, OpModeR, OpModeS, Serializable as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::instance::InstanceId;
use crate::secret::Secret;
use crate::{VERSION, bytes};

type Kem = X25519HkdfSha256;

/// An X25519 public key: the provisioner's pinned one, or an agent's claim key. Its text is standard base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

/// An X25519 private key. It prints as `[secret]`.
#[derive(Clone)]
pub struct PrivateKey(<Kem as hpke::Kem>::PrivateKey);

/// What was given is no X25519 key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an X25519 key: 32 bytes in base64")]
pub struct InvalidKey;

/// An envelope could not be made or opened. Why is not told: whoever made it knows, and others should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The recipient's key is a point that nobody may use.
    #[error("the recipient's public key is unusable")]
    Unusable,
    /// It was not made by this sender, for this recipient, in this place of the conversation, or it was altered.
    #[error("the envelope is not from the expected sender, not for this conversation, or was altered")]
    NotAuthentic,
}

/// A message as it travels, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// The sender's public key. In a request it is the claim key; in an answer it must be the pinned one.
    pub sender: PublicKey,
    /// HPKE's encapsulated key: 32 bytes in base64.
    #[serde(with = "bytes")]
    pub encapsulated: [u8; 32],
    /// The ciphertext with its tag, in base64.
    #[serde(with = "bytes")]
    pub ciphertext: Vec<u8>,
}

/// Which call a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `POST /v1/workers/{id}/claim`
    Claim,
    /// `POST /v1/workers/{id}/progress`
    Progress,
}

/// The place of a message in the conversation. It goes into HPKE's `info`, so that a message cannot be moved.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The call.
    pub call: Call,
    /// The provisioner's public key, which stands for the cluster.
    pub audience: &'a PublicKey,
    /// The instance that the path names.
    pub instance: &'a InstanceId,
    /// In an answer: the hash of the sealed request that it answers.
    pub answers: Option<[u8; 32]>,
}

impl Place<'_> {
    // No field can hold a newline, so the lines are unambiguous.
    fn info(&self) -> Vec<u8> {
        let call = match self.call {
            Call::Claim => "claim",
            Call::Progress => "progress",
        };
        let direction = if self.answers.is_some() { "answer" } else { "request" };
        let answers = self.answers.map(|hash| bytes::encode(&hash)).unwrap_or_default();
        let (audience, instance) = (self.audience, self.instance);
        format!("dynk8s/{VERSION}\n{direction}\n{call}\n{audience}\n{instance}\n{answers}").into_bytes()
    }
}

impl Sealed {
    /// The hash that an answer to this request is bound to.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.sender.0);
        hash.update(self.encapsulated);
        hash.update(&self.ciphertext);
        hash.finalize().into()
    }

    /// Seals a message from the holder of `sender` to the holder of `recipient`'s private half.
    pub fn seal(message: &[u8], sender: &PrivateKey, recipient: &PublicKey, place: &Place<'_>) -> Result<Self, Error> {
        let recipient = recipient.to_kem().ok_or(Error::Unusable)?;
        let mode = OpModeS::<Kem>::Auth((sender.0.clone(), Kem::sk_to_pk(&sender.0)));
        let (encapsulated, mut context) =
            hpke::setup_sender::<ChaCha20Poly1305, HkdfSha256, Kem>(&mode, &recipient, &place.info())
                .map_err(|_| Error::Unusable)?;
        let ciphertext = context.seal(message, b"").map_err(|_| Error::Unusable)?;
        Ok(Self {
            sender: sender.public(),
            encapsulated: encapsulated.to_bytes().into(),
            ciphertext,
        })
    }

    /// Opens a message that the holder of [`Sealed::sender`] sealed for `recipient` at this place. Whether that sender
    /// is the right one is the caller's to decide.
    pub fn open(&self, recipient: &PrivateKey, place: &Place<'_>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let sender = self.sender.to_kem().ok_or(Error::NotAuthentic)?;
        let encapsulated =
            <Kem as hpke::Kem>::EncappedKey::from_bytes(&self.encapsulated).map_err(|_| Error::NotAuthentic)?;
        let mode = OpModeR::<Kem>::Auth(sender);
        let mut context = hpke::setup_receiver::<ChaCha20Poly1305, HkdfSha256, Kem>(
            &mode,
            &recipient.0,
            &encapsulated,
            &place.info(),
        )
        .map_err(|_| Error::NotAuthentic)?;
        context
            .open(&self.ciphertext, b"")
            .map(Zeroizing::new)
            .map_err(|_| Error::NotAuthentic)
    }
}

impl PrivateKey {
    /// Draws a new key from the operating system's generator.
    pub fn generate() -> Self {
        Self(Kem::gen_keypair().0)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(Kem::sk_to_pk(&self.0).to_bytes().into())
    }

    /// The key as base64, for the one file or Secret that keeps it.
    pub fn to_secret(&self) -> Secret {
        let raw = Zeroizing::new(<[u8; 32]>::from(self.0.to_bytes()));
        Secret::new(bytes::encode(&raw[..]))
    }

    /// Reads what [`PrivateKey::to_secret`] wrote.
    pub fn from_secret(secret: &Secret) -> Result<Self, InvalidKey> {
        let raw = Zeroizing::new(bytes::decode_exact::<32>(secret.expose().trim()).ok_or(InvalidKey)?);
        <Kem as hpke::Kem>::PrivateKey::from_bytes(&raw[..])
            .map(Self)
            .map_err(|_| InvalidKey)
    }
}

impl PublicKey {
    /// The SHA-256 of the key in lowercase hexadecimal, by which a Worker remembers its claimant.
    pub fn fingerprint(&self) -> String {
        bytes::hex(&Sha256::digest(self.0))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn to_kem(self) -> Option<<Kem as hpke::Kem>::PublicKey> {
        <Kem as hpke::Kem>::PublicKey::from_bytes(&self.0).ok()
    }
}

impl FromStr for PublicKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let key = Self(bytes::decode_exact(text).ok_or(InvalidKey)?);
        key.to_kem().map(|_| key).ok_or(InvalidKey)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bytes::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Error, Place, PrivateKey, PublicKey, Sealed};
    use crate::instance::InstanceId;

    struct Fixture {
        agent: PrivateKey,
        provisioner: PrivateKey,
        audience: PublicKey,
        instance: InstanceId,
    }

    impl Fixture {
        fn new() -> Self {
            let provisioner = PrivateKey::generate();
            Self {
                agent: PrivateKey::generate(),
                audience: provisioner.public(),
                provisioner,
                instance: "i-0123456789abcdef0".parse().unwrap(),
            }
        }

        fn place(&self) -> Place<'_> {
            Place {
                call: Call::Claim,
                audience: &self.audience,
                instance: &self.instance,
                answers: None,
            }
        }

        fn request(&self) -> Sealed {
            Sealed::seal(b"hello", &self.agent, &self.audience, &self.place()).unwrap()
        }
    }

    #[test]
    fn opens_what_was_sealed() {
        let it = Fixture::new();
        let request = it.request();
        assert_eq!(request.open(&it.provisioner, &it.place()).unwrap().as_slice(), b"hello");

        let place = Place {
            answers: Some(request.hash()),
            ..it.place()
        };
        let answer = Sealed::seal(b"world", &it.provisioner, &request.sender, &place).unwrap();
        assert_eq!(answer.open(&it.agent, &place).unwrap().as_slice(), b"world");
    }

    #[test]
    fn refuses_another_place() {
        let it = Fixture::new();
        let other_instance = "i-0123456789abcdef1".parse().unwrap();
        let other_audience = PrivateKey::generate().public();
        let request = it.request();
        for place in [
            Place {
                call: Call::Progress,
                ..it.place()
            },
            Place {
                instance: &other_instance,
                ..it.place()
            },
            Place {
                audience: &other_audience,
                ..it.place()
            },
            Place {
                answers: Some([0; 32]),
                ..it.place()
            },
        ] {
            assert_eq!(
                request.open(&it.provisioner, &place).unwrap_err(),
                Error::NotAuthentic,
                "{place:?}"
            );
        }
    }

    #[test]
    fn refuses_another_sender_and_every_altered_byte() {
        let it = Fixture::new();
        let honest = it.request();
        let mut forged = honest.clone();
        forged.sender = PrivateKey::generate().public();
        assert!(forged.open(&it.provisioner, &it.place()).is_err());
        for at in 0..honest.ciphertext.len() {
            let mut altered = honest.clone();
            altered.ciphertext[at] ^= 1;
            assert!(
                altered.open(&it.provisioner, &it.place()).is_err(),
                "byte {at} of the ciphertext"
            );
        }
        for at in 0..32 {
            let mut altered = honest.clone();
            altered.encapsulated[at] ^= 1;
            assert!(
                altered.open(&it.provisioner, &it.place()).is_err(),
                "byte {at} of the encapsulated key"
            );
        }
    }

    #[test]
    fn keeps_keys_readable_and_unprinted() {
        let key = PrivateKey::generate();
        let again = PrivateKey::from_secret(&key.to_secret()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(format!("{key:?}"), "[secret]");
        assert_eq!(key.public().to_string().parse::<PublicKey>().unwrap(), key.public());
    }

    #[test]
    fn refuses_what_is_no_key() {
        for text in ["", "AAAA", "not base64", &"A".repeat(10_000)] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
    }
}
