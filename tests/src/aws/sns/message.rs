//! What SNS sends to an HTTPS endpoint, byte for byte, and what of it is signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rsa::PrivateKey;
use rsa::pkcs1v15::SigningKey;
use rsa::sha2::Sha256;
use rsa::signature::{SignatureEncoding, Signer};
use sha1::Sha1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Notification,
    SubscriptionConfirmation,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notification => "Notification",
            Self::SubscriptionConfirmation => "SubscriptionConfirmation",
        }
    }
}

/// A message before it is sent. A test that wants a forgery changes fields after signing, one that wants a signed oddity before.
#[derive(Debug, Clone)]
pub struct Message {
    pub kind: Kind,
    pub id: String,
    /// Of confirmations only.
    pub token: Option<String>,
    pub topic: String,
    pub subject: Option<String>,
    pub message: String,
    pub timestamp: String,
    pub signature_version: String,
    pub signature: String,
    pub certificate_url: String,
    /// Where to subscribe or to unsubscribe, as the kind has it.
    pub action_url: String,
}

impl Message {
    /// Signs what AWS signs, by the message's own signature version.
    pub fn sign(&mut self, key: &PrivateKey) {
        let text = self.string_to_sign();
        let signature = if self.signature_version == "1" {
            SigningKey::<Sha1>::new(key.clone()).sign(text.as_bytes()).to_vec()
        } else {
            SigningKey::<Sha256>::new(key.clone()).sign(text.as_bytes()).to_vec()
        };
        self.signature = STANDARD.encode(signature);
    }

    /// The time of sending, as AWS writes it.
    pub fn set_time(&mut self, time: Timestamp) {
        self.timestamp = time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    }

    fn string_to_sign(&self) -> String {
        let mut fields = vec![("Message", self.message.as_str()), ("MessageId", &self.id)];
        if self.kind == Kind::Notification {
            fields.extend(self.subject.as_deref().map(|subject| ("Subject", subject)));
        } else {
            fields.push(("SubscribeURL", &self.action_url));
        }
        fields.push(("Timestamp", &self.timestamp));
        if self.kind != Kind::Notification {
            fields.push(("Token", self.token.as_deref().unwrap_or_default()));
        }
        fields.extend([("TopicArn", self.topic.as_str()), ("Type", self.kind.as_str())]);
        fields
            .into_iter()
            .flat_map(|(name, value)| [name, "\n", value, "\n"])
            .collect()
    }

    /// The body, in the order and the spacing of AWS.
    pub fn body(&self) -> String {
        let mut fields = vec![("Type", self.kind.as_str()), ("MessageId", &self.id)];
        fields.extend(self.token.as_deref().map(|token| ("Token", token)));
        fields.push(("TopicArn", &self.topic));
        fields.extend(self.subject.as_deref().map(|subject| ("Subject", subject)));
        fields.push(("Message", &self.message));
        let notification = self.kind == Kind::Notification;
        if !notification {
            fields.push(("SubscribeURL", &self.action_url));
        }
        fields.extend([
            ("Timestamp", self.timestamp.as_str()),
            ("SignatureVersion", &self.signature_version),
            ("Signature", &self.signature),
            ("SigningCertURL", &self.certificate_url),
        ]);
        if notification {
            fields.push(("UnsubscribeURL", &self.action_url));
        }
        let lines = fields
            .into_iter()
            .map(|(name, value)| format!("  \"{name}\" : {}", serde_json::Value::from(value)));
        format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
    }
}
