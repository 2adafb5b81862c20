//! A message as SNS delivers it over HTTPS, and the text of it that is signed
//! ([formats](https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html)).

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::signature::Version;
use super::topic::Topic;
use super::{Refusal, quote};

/// The longest token and the longest URL that are read; real ones are shorter than 300.
const MAX_TEXT: usize = 2048;

/// What a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something was published.
    Notification,
    /// Somebody wants us to confirm a subscription.
    SubscriptionConfirmation { token: String },
    /// A subscription of ours was ended.
    UnsubscribeConfirmation,
}

/// A message of the documented form. Nothing of it is believed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub id: String,
    pub topic: String,
    /// What was published.
    pub text: String,
    pub time: Timestamp,
    pub certificate_url: String,
    pub(super) version: String,
    pub(super) signature: String,
    pub(super) signed: String,
}

/// All that any type of message holds, and nothing that is not signed beside the signature itself.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Wire {
    r#type: String,
    message_id: String,
    topic_arn: String,
    message: String,
    timestamp: String,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    certificate_url: String,
    subject: Option<String>,
    token: Option<String>,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Option<String>,
}

impl Message {
    /// Reads a body. The headers are not signed, so nothing is taken from them.
    pub fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let wire: Wire = serde_json::from_slice(body).map_err(|error| unreadable(body, &error))?;
        let malformed = |what: &str| Refusal::Malformed(what.to_owned());
        let time = wire
            .timestamp
            .parse()
            .map_err(|_| malformed("its Timestamp is no time"))?;
        let short = [
            &wire.message_id,
            &wire.topic_arn,
            &wire.signature,
            &wire.certificate_url,
        ];
        if short.iter().any(|it| it.len() > MAX_TEXT) {
            return Err(malformed("a field is too long"));
        }
        let (kind, signed) = match wire.r#type.as_str() {
            "Notification" => (Kind::Notification, wire.signed_notification()),
            "SubscriptionConfirmation" => {
                let token = wire.token.clone().filter(|it| (1..=MAX_TEXT).contains(&it.len()));
                let token = token.ok_or_else(|| malformed("its Token is missing or too long"))?;
                (Kind::SubscriptionConfirmation { token }, wire.signed_confirmation()?)
            }
            "UnsubscribeConfirmation" => (Kind::UnsubscribeConfirmation, wire.signed_confirmation()?),
            _ => return Err(malformed("its Type is unknown")),
        };
        Ok(Self {
            kind,
            signed,
            id: wire.message_id,
            topic: wire.topic_arn,
            text: wire.message,
            time,
            certificate_url: wire.certificate_url,
            version: wire.signature_version,
            signature: wire.signature,
        })
    }

    /// How it is signed, if its topic may sign like that. Nothing signs the version itself, but a signature fits one only.
    pub(super) fn version(&self, topic: &Topic) -> Result<Version, Refusal> {
        match self.version.as_str() {
            "2" => Ok(Version::Sha256),
            "1" if topic.signs_with_sha1 => Ok(Version::Sha1),
            "1" => Err(Refusal::NotAuthentic(format!(
                "its signature version is 1; `aws sns set-topic-attributes --topic-arn {} --attribute-name \
                 SignatureVersion --attribute-value 2` makes it 2",
                topic.arn
            ))),
            _ => Err(Refusal::NotAuthentic("its signature version is not known".to_owned())),
        }
    }
}

impl Wire {
    fn signed_notification(&self) -> String {
        let mut fields = vec![("Message", self.message.as_str()), ("MessageId", &self.message_id)];
        fields.extend(self.subject.as_deref().map(|it| ("Subject", it)));
        fields.extend([
            ("Timestamp", self.timestamp.as_str()),
            ("TopicArn", &self.topic_arn),
            ("Type", &self.r#type),
        ]);
        lines(&fields)
    }

    fn signed_confirmation(&self) -> Result<String, Refusal> {
        let (Some(token), Some(url)) = (self.token.as_deref(), self.subscribe_url.as_deref()) else {
            return Err(Refusal::Malformed("its Token or SubscribeURL is missing".to_owned()));
        };
        Ok(lines(&[
            ("Message", &self.message),
            ("MessageId", &self.message_id),
            ("SubscribeURL", url),
            ("Timestamp", &self.timestamp),
            ("Token", token),
            ("TopicArn", &self.topic_arn),
            ("Type", &self.r#type),
        ]))
    }
}

/// What is no message may be what was published, without its envelope.
fn unreadable(body: &[u8], error: &serde_json::Error) -> Refusal {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "source")]
        _source: IgnoredAny,
        #[serde(rename = "detail-type")]
        _detail_type: IgnoredAny,
    }
    match serde_json::from_slice::<Event>(body) {
        Ok(_) => Refusal::Raw,
        Err(_) => Refusal::Malformed(quote(error)),
    }
}

/// Name and value of each field on lines of their own, in the order of the documentation.
fn lines(fields: &[(&str, &str)]) -> String {
    fields
        .iter()
        .flat_map(|&(name, value)| [name, "\n", value, "\n"])
        .collect()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Kind, Message};
    use crate::sns::Refusal;

    const NOTIFICATION: &str = r#"{
        "Type": "Notification", "MessageId": "m", "TopicArn": "t", "Message": "a\nb", "Timestamp": "2026-12-01T00:00:00.000Z",
        "SignatureVersion": "2", "Signature": "s", "SigningCertURL": "c", "UnsubscribeURL": "u"
    }"#;

    const CONFIRMATION: &str = r#"{
        "Type": "SubscriptionConfirmation", "MessageId": "m", "TopicArn": "t", "Message": "a", "Token": "k",
        "SubscribeURL": "u", "Timestamp": "2026-12-01T00:00:00.000Z", "SignatureVersion": "2", "Signature": "s",
        "SigningCertURL": "c"
    }"#;

    #[test]
    fn a_notification_without_subject_is_signed_without_one() {
        let message = Message::parse(NOTIFICATION.as_bytes()).unwrap();
        assert_eq!(message.kind, Kind::Notification);
        assert_eq!(
            message.signed,
            "Message\na\nb\nMessageId\nm\nTimestamp\n2026-12-01T00:00:00.000Z\nTopicArn\nt\nType\nNotification\n"
        );
    }

    #[test]
    fn a_subject_is_signed() {
        let text = NOTIFICATION.replace(r#""Message":"#, r#""Subject": "x", "Message":"#);
        let message = Message::parse(text.as_bytes()).unwrap();
        assert!(
            message.signed.contains("MessageId\nm\nSubject\nx\nTimestamp\n"),
            "{}",
            message.signed
        );
    }

    #[test]
    fn a_confirmation_is_signed_with_its_token_and_its_url() {
        let message = Message::parse(CONFIRMATION.as_bytes()).unwrap();
        assert_eq!(
            message.signed,
            "Message\na\nMessageId\nm\nSubscribeURL\nu\nTimestamp\n2026-12-01T00:00:00.000Z\nToken\nk\nTopicArn\nt\n\
             Type\nSubscriptionConfirmation\n"
        );
        assert_eq!(message.kind, Kind::SubscriptionConfirmation { token: "k".to_owned() });
    }

    #[test_case("", ""; "nothing")]
    #[test_case(NOTIFICATION, r#""Type": "Other""#; "an unknown type")]
    #[test_case(NOTIFICATION, r#""Type": 1"#; "a number for a text")]
    #[test_case(NOTIFICATION, r#""MessageId": null"#; "a field that is null")]
    #[test_case(NOTIFICATION, r#""Timestamp": "yesterday""#; "no time")]
    #[test_case(NOTIFICATION, r#""Message": {"source": "aws.ec2"}"#; "an object for a text")]
    #[test_case(NOTIFICATION, r#""Subject": 1"#; "a number for a subject")]
    #[test_case(NOTIFICATION, r#""SignatureVersion": 2"#; "a number for a version")]
    #[test_case(NOTIFICATION, r#""Signature": null"#; "no signature")]
    #[test_case(NOTIFICATION, r#""SigningCertURL": null"#; "no certificate")]
    #[test_case(NOTIFICATION, r#""TopicArn": ["t"]"#; "a list for a topic")]
    #[test_case(CONFIRMATION, r#""Token": """#; "an empty token")]
    #[test_case(CONFIRMATION, r#""Token": null"#; "no token")]
    #[test_case(CONFIRMATION, r#""SubscribeURL": null"#; "no url")]
    fn refuses(base: &str, change: &str) {
        let text = change.split_once(": ").map_or_else(String::new, |(name, value)| {
            let mut json: serde_json::Value = serde_json::from_str(base).unwrap();
            json[name.trim_matches('"')] = serde_json::from_str(value).unwrap();
            json.to_string()
        });
        assert!(matches!(Message::parse(text.as_bytes()), Err(Refusal::Malformed(_))));
    }

    #[test_case(NOTIFICATION, "MessageId")]
    #[test_case(NOTIFICATION, "TopicArn")]
    #[test_case(NOTIFICATION, "Signature")]
    #[test_case(NOTIFICATION, "SigningCertURL")]
    #[test_case(CONFIRMATION, "Token")]
    fn refuses_too_long(base: &str, field: &str) {
        let with = |length: usize| {
            let mut json: serde_json::Value = serde_json::from_str(base).unwrap();
            json[field] = "x".repeat(length).into();
            Message::parse(json.to_string().as_bytes())
        };
        assert!(with(super::MAX_TEXT).is_ok());
        assert!(matches!(with(super::MAX_TEXT + 1), Err(Refusal::Malformed(_))));
    }

    #[test]
    fn what_a_stranger_wrote_is_quoted_shortened_and_escaped() {
        let text = format!(r#"{{"Type": [], "{}\u001b": 1}}"#, "x".repeat(10_000));
        let error = Message::parse(text.replace("[]", &format!("\"{}\"", "y".repeat(10_000))).as_bytes()).unwrap_err();
        assert!(error.to_string().len() < 300, "{error}");
        let error = Message::parse(b"\"\\u001b[2J\"").unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn an_event_without_its_envelope_is_known_as_such() {
        let event = br#"{"version": "0", "source": "aws.ec2", "detail-type": "x", "detail": {}}"#;
        let error = Message::parse(event).unwrap_err();
        assert!(matches!(error, Refusal::Raw), "{error}");
        assert!(error.to_string().contains("RawMessageDelivery"), "{error}");
    }

    #[test]
    fn a_field_that_stands_twice_is_refused() {
        let text = NOTIFICATION.replace(r#""Message":"#, r#""Message": "other", "Message":"#);
        assert!(matches!(Message::parse(text.as_bytes()), Err(Refusal::Malformed(_))));
    }
}
