//! Deliveries: tried again as AWS tries them, and all written down.

use anyhow::bail;
use axum::http::StatusCode;
use tokio::time::sleep;
use url::Url;
use uuid::Uuid;

use super::message::{Kind, Message};
use super::{Delivery, Sns};

impl Sns {
    /// Delivers a message to every confirmed endpoint; the same one again is a redelivery.
    pub async fn deliver(&self, message: &Message) -> anyhow::Result<()> {
        for endpoint in self.confirmed() {
            self.deliver_to(&endpoint, message).await?;
        }
        Ok(())
    }

    /// Delivers to one endpoint, confirmed or not, by the retry policy.
    pub async fn deliver_to(&self, endpoint: &Url, message: &Message) -> anyhow::Result<()> {
        let policy = self.policy().clone();
        for attempt in 0..=policy.retries {
            if attempt > 0 {
                sleep(policy.pause).await;
            }
            let outcome = self
                .post(endpoint, message.kind, &message.id, message.body(), false)
                .await;
            let delivery = Delivery {
                message: message.id.clone(),
                kind: message.kind,
                endpoint: endpoint.clone(),
                attempt,
                outcome,
            };
            self.inner.deliveries.push(delivery.clone());
            match delivery.outcome {
                Ok(status) if status.is_success() => return Ok(()),
                Ok(status) if status.is_client_error() => {
                    bail!("failed to deliver to {endpoint}: it refuses with {status}")
                }
                Ok(_) | Err(_) => {}
            }
        }
        bail!(
            "failed to deliver to {endpoint}: {:?}",
            self.inner.deliveries.entries().last().map(|last| last.outcome.clone())
        )
    }

    /// Delivers the bare text, as a subscription with raw delivery does; the endpoint's status.
    pub async fn deliver_raw(&self, endpoint: &Url, text: &str) -> Result<StatusCode, String> {
        self.post(
            endpoint,
            Kind::Notification,
            &Uuid::new_v4().to_string(),
            text.to_owned(),
            true,
        )
        .await
    }

    async fn post(&self, endpoint: &Url, kind: Kind, id: &str, body: String, raw: bool) -> Result<StatusCode, String> {
        let patience = self.policy().patience;
        let mut request = self
            .inner
            .client
            .post(endpoint.clone())
            .timeout(patience)
            .header("content-type", "text/plain; charset=UTF-8")
            .header("user-agent", "Amazon Simple Notification Service Agent")
            .header("x-amz-sns-message-type", kind.as_str())
            .header("x-amz-sns-message-id", id)
            .header("x-amz-sns-topic-arn", self.topic());
        if kind != Kind::SubscriptionConfirmation
            && let Some(arn) = self
                .subscriptions()
                .iter()
                .find(|it| it.endpoint == *endpoint)
                .map(|it| it.arn.clone())
        {
            request = request.header("x-amz-sns-subscription-arn", arn);
        }
        if raw {
            request = request.header("x-amz-sns-rawdelivery", "true");
        }
        request
            .body(body)
            .send()
            .await
            .map(|answer| answer.status())
            .map_err(|error| chain(&error))
    }

    fn confirmed(&self) -> Vec<Url> {
        self.subscriptions()
            .iter()
            .filter(|it| it.confirmed)
            .map(|it| it.endpoint.clone())
            .collect()
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
