//! The Simple Notification Service: one topic, its subscriptions over HTTPS, and deliveries that are tried again as AWS tries them.

mod api;
mod delivery;
pub mod message;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::StatusCode;
use jiff::Timestamp;
use rsa::PrivateKey;
use url::Url;
use uuid::Uuid;

use self::message::{Kind, Message};
use super::certificates::Authority;
use super::cloud::{Cloud, hexadecimal};
use super::journal::Journal;

/// How deliveries are made, AWS' own defaults at first, and what goes wrong with the signer's certificate.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Deliveries after the first one, when an endpoint answers 5xx or not at all.
    pub retries: u32,
    pub pause: Duration,
    /// How long an endpoint may take to answer.
    pub patience: Duration,
    /// "2", or "1" as topics have it by default.
    pub signature_version: String,
    /// The answer to who asks for the signer's certificate, in place of it.
    pub certificate_answer: Option<(StatusCode, String)>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retries: 3,
            pause: Duration::from_secs(20),
            patience: Duration::from_secs(15),
            signature_version: "2".to_owned(),
            certificate_answer: None,
        }
    }
}

/// One attempt to deliver: the endpoint's status, or why there is none.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub message: String,
    pub kind: Kind,
    pub endpoint: Url,
    pub attempt: u32,
    pub outcome: Result<StatusCode, String>,
}

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub struct Sns {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cloud: Cloud,
    topic: String,
    key: PrivateKey,
    certificate: String,
    certificate_name: String,
    client: reqwest::Client,
    policy: Mutex<Policy>,
    subscriptions: Mutex<Vec<Subscription>>,
    deliveries: Journal<Delivery>,
    confirmations: Journal<String>,
}

#[derive(Debug, Clone)]
struct Subscription {
    endpoint: Url,
    arn: String,
    token: String,
    confirmed: bool,
}

impl Sns {
    /// A topic whose signer's certificate comes from `authority`, delivering with `client`.
    pub fn new(cloud: Cloud, topic: &str, authority: &Authority, client: reqwest::Client) -> anyhow::Result<Self> {
        let key = PrivateKey::new(&mut rand::rng(), 2048).context("failed to generate the key of the SNS signer")?;
        let certificate = authority.signer("sns.amazonaws.com", &key)?.pem();
        let inner = Inner {
            topic: format!("arn:aws:sns:{}:{}:{topic}", cloud.region(), cloud.account()),
            cloud,
            key,
            certificate,
            certificate_name: format!("SimpleNotificationService-{}.pem", hexadecimal(32)),
            client,
            policy: Mutex::default(),
            subscriptions: Mutex::default(),
            deliveries: Journal::default(),
            confirmations: Journal::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name under which the service is reached.
    pub fn host(&self) -> String {
        format!("sns.{}.amazonaws.com", self.inner.cloud.region())
    }

    pub fn topic(&self) -> &str {
        &self.inner.topic
    }

    /// The certificate of its signer, and the calls that end users make.
    pub fn routes(&self) -> Router {
        api::routes(self.clone())
    }

    pub fn policy(&self) -> MutexGuard<'_, Policy> {
        self.inner.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every attempt to deliver.
    pub fn deliveries(&self) -> &Journal<Delivery> {
        &self.inner.deliveries
    }

    /// The endpoints whose subscription was confirmed.
    pub fn confirmations(&self) -> &Journal<String> {
        &self.inner.confirmations
    }

    /// Subscribes an endpoint: it is sent a confirmation, and receives messages once it has called back with the token.
    pub async fn subscribe(&self, endpoint: &Url) -> anyhow::Result<()> {
        let arn = format!("{}:{}", self.topic(), Uuid::new_v4());
        let token = hexadecimal(64).repeat(4);
        let subscription = Subscription {
            endpoint: endpoint.clone(),
            arn,
            token: token.clone(),
            confirmed: false,
        };
        self.subscriptions().push(subscription);
        let mut message = self.draft(Kind::SubscriptionConfirmation);
        message.message = format!(
            "You have chosen to subscribe to the topic {}.\nTo confirm the subscription, visit the SubscribeURL included in this message.",
            self.topic()
        );
        message.action_url = format!(
            "https://{}/?Action=ConfirmSubscription&TopicArn={}&Token={token}",
            self.host(),
            self.topic()
        );
        message.token = Some(token);
        message.sign(&self.inner.key);
        self.deliver_to(endpoint, &message).await
    }

    /// Publishes to every confirmed endpoint; an error if one of them took none of the attempts.
    pub async fn publish(&self, text: &str) -> anyhow::Result<Message> {
        let message = self.notification(text);
        self.deliver(&message).await?;
        Ok(message)
    }

    /// A signed notification, to be delivered as it is or altered.
    pub fn notification(&self, text: &str) -> Message {
        let mut message = self.draft(Kind::Notification);
        text.clone_into(&mut message.message);
        self.sign(&mut message);
        message
    }

    /// Signs a message again after an alteration that its forger could have signed.
    pub fn sign(&self, message: &mut Message) {
        message.sign(&self.inner.key);
    }

    fn draft(&self, kind: Kind) -> Message {
        let host = self.host();
        let arn = self
            .subscriptions()
            .iter()
            .find(|it| it.confirmed)
            .map_or_else(|| self.topic().to_owned(), |it| it.arn.clone());
        let mut message = Message {
            kind,
            id: Uuid::new_v4().to_string(),
            token: None,
            topic: self.topic().to_owned(),
            subject: None,
            message: String::new(),
            timestamp: String::new(),
            signature_version: self.policy().signature_version.clone(),
            signature: String::new(),
            certificate_url: format!("https://{host}/{}", self.inner.certificate_name),
            action_url: format!("https://{host}/?Action=Unsubscribe&SubscriptionArn={arn}"),
        };
        message.set_time(Timestamp::now());
        message
    }

    fn subscriptions(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.inner.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
