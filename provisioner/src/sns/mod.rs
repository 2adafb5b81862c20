//! Messages of the Simple Notification Service: read strictly, believed only if they are AWS's own and of our topics.
//!
//! The order of the rules matters: whatever costs something, a request to AWS before all, comes after whatever an
//! outsider cannot satisfy. A message that arrives twice does no harm, for what it says is a fact with a time of its
//! own; so no list of seen ids is kept.

pub mod certificate;
pub mod event;
pub mod message;
pub mod outcome;
pub mod signature;
#[cfg(test)]
mod tests;
pub mod topic;

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use url::Url;

use self::certificate::Certificates;
use self::message::Message;
use self::outcome::Outcome;
use self::topic::Topic;
use crate::fetch;

/// SNS repeats a delivery for an hour at most ("Amazon SNS message delivery retries"), and clocks may differ. A tombstone
/// must outlive it: the configuration is checked against it.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(65);

/// How far the clock of AWS may be ahead of ours.
pub const MAX_AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// The largest answer that is read.
const MAX_ANSWER: usize = 16 * 1024;

/// The most characters of an error that are told.
const MAX_QUOTE: usize = 200;

/// Why a message is not believed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It has no envelope, and so no signature.
    #[error(
        "the message came without its envelope and has no signature; turn raw delivery off: `aws sns \
         set-subscription-attributes --subscription-arn <ARN> --attribute-name RawMessageDelivery --attribute-value false`"
    )]
    Raw,
    /// It is not of the documented form.
    #[error("the message is malformed: {0}")]
    Malformed(String),
    /// It may be authentic, but it is not meant for us.
    #[error("the message is not for us: {0}")]
    NotForUs(String),
    /// It is too old, or from the future.
    #[error("the message was sent at {sent}, too far from {now}; if it was not repeated, look at the clock")]
    Stale { sent: Timestamp, now: Timestamp },
    /// It is not what AWS signed.
    #[error("the message is not authentic: {0}")]
    NotAuthentic(String),
    /// It could not be told; asking again helps.
    #[error("the message could not be checked")]
    Unavailable(#[source] anyhow::Error),
}

impl Refusal {
    /// How it is counted.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Raw => Outcome::Raw,
            Self::Malformed(_) => Outcome::Malformed,
            Self::NotForUs(_) => Outcome::OtherTopic,
            Self::Stale { .. } => Outcome::Stale,
            Self::NotAuthentic(_) => Outcome::NotAuthentic,
            Self::Unavailable(_) => Outcome::Unavailable,
        }
    }
}

/// Checks messages and confirms subscriptions.
#[derive(Debug)]
pub struct Verifier {
    certificates: Certificates,
    client: reqwest::Client,
}

impl Verifier {
    /// Asks SNS with this client.
    pub fn new(client: reqwest::Client) -> Self {
        Self {
            certificates: Certificates::new(client.clone()),
            client,
        }
    }

    /// The topic of a message that is authentic, fresh and ours.
    pub async fn verify<'a>(
        &self,
        topics: &'a [Topic],
        message: &Message,
        now: Timestamp,
    ) -> Result<&'a Topic, Refusal> {
        let topic = topics.iter().find(|it| it.arn == message.topic);
        let topic = topic.ok_or_else(|| Refusal::NotForUs("its topic is not listed in `sns.topics`".to_owned()))?;
        let version = message.version(topic)?;
        check_age(message.time, now)?;
        let url = certificate::url(&message.certificate_url, topic)?;
        let key = self.certificates.key(&url, topic, now).await?;
        signature::verify(&key, message, version)?;
        Ok(topic)
    }

    /// Confirms a subscription with a request of our own; the URL in the message is never used.
    pub async fn confirm(&self, topic: &Topic, token: &str) -> anyhow::Result<()> {
        let mut url =
            Url::parse(&format!("https://{}/", topic.host())).context("failed to name the endpoint of SNS")?;
        url.query_pairs_mut()
            .append_pair("Action", "ConfirmSubscription")
            .append_pair("TopicArn", &topic.arn)
            .append_pair("Token", token)
            .append_pair("Version", "2010-03-31");
        let answer = fetch::bounded(self.client.get(url), MAX_ANSWER)
            .await
            .with_context(|| format!("failed to ask `{}`", topic.host()))?;
        if answer.status != StatusCode::OK {
            bail!(
                "`{}` refused to confirm the subscription with {}",
                topic.host(),
                answer.status
            );
        }
        Ok(())
    }
}

/// An error that may quote what a stranger wrote: shortened, and without control characters.
fn quote(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.chars().take(MAX_QUOTE).flat_map(char::escape_debug).collect()
}

fn check_age(sent: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    let age = now.duration_since(sent);
    if age > MAX_AGE || -age > MAX_AHEAD {
        return Err(Refusal::Stale { sent, now });
    }
    Ok(())
}
