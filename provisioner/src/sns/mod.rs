//! Messages of the Simple Notification Service: read strictly, believed only if they are AWS's own and of our topics.
//!
//! The order of the rules matters: whatever costs something, a request to AWS before all, comes after whatever an
//! outsider cannot satisfy. A message that arrives twice does no harm, for what it says is a fact with a time of its
//! own; so no list of seen ids is kept.

pub mod certificate;
pub mod event;
pub mod message;
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
use self::topic::Topic;
use crate::fetch;

/// SNS repeats a delivery for an hour at most ("Amazon SNS message delivery retries"), and clocks may differ.
const MAX_AGE: SignedDuration = SignedDuration::from_mins(65);

/// The largest answer that is read.
const MAX_ANSWER: usize = 16 * 1024;

/// The most characters of an error that are told.
const MAX_QUOTE: usize = 200;

/// Why a message is not believed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is not of the documented form.
    #[error("the message is malformed: {0}")]
    Malformed(String),
    /// It may be authentic, but it is not meant for us.
    #[error("the message is not for us: {0}")]
    NotForUs(String),
    /// It is not what AWS signed.
    #[error("the message is not authentic: {0}")]
    NotAuthentic(String),
    /// It could not be told; asking again helps.
    #[error("the message could not be checked")]
    Unavailable(#[source] anyhow::Error),
}

/// Checks messages and confirms subscriptions.
#[derive(Debug)]
pub struct Verifier {
    topics: Vec<Topic>,
    certificates: Certificates,
    client: reqwest::Client,
}

impl Verifier {
    /// Believes messages of these topics.
    pub fn new(topics: Vec<Topic>, client: reqwest::Client) -> Self {
        Self {
            topics,
            certificates: Certificates::new(client.clone()),
            client,
        }
    }

    /// The topic of a message that is authentic, fresh and ours.
    pub async fn verify(&self, message: &Message, now: Timestamp) -> Result<&Topic, Refusal> {
        let topic = self.topics.iter().find(|it| it.arn == message.topic);
        let topic = topic.ok_or_else(|| Refusal::NotForUs("its topic is not listed in `sns.topics`".to_owned()))?;
        message.check_version()?;
        check_age(message.time, now)?;
        let url = certificate::url(&message.certificate_url, topic)?;
        let key = self.certificates.key(&url, topic, now).await?;
        signature::verify(&key, message)?;
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

fn check_age(time: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    if now.duration_since(time).abs() > MAX_AGE {
        return Err(Refusal::NotAuthentic(format!(
            "it was sent at {time}, too far from {now}"
        )));
    }
    Ok(())
}
