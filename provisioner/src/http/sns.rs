//! `POST /sns`: from AWS. What it says is written down before it is answered.
//!
//! SNS repeats what was answered with 5xx, for a while, and gives up at once on 4xx. So 503 says that repeating helps, and
//! 403 and 400 that it does not.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dynk8s_api::problem::Reason;
use jiff::Timestamp;
use tracing::{debug, error, info, warn};

use super::problem::Refusal;
use super::{Shared, body};
use crate::announce;
use crate::sns::message::{Kind, Message};
use crate::sns::topic::Topic;
use crate::sns::{self, event};

/// Set by SNS on deliveries without an envelope. They have no signature either.
const RAW_DELIVERY: &str = "x-amz-sns-rawdelivery";

pub(super) async fn post(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let answered = answer(&shared, request).await;
    let outcome = answered.as_ref().err().map_or("accepted", Refusal::outcome);
    shared.metrics.sns_message(outcome);
    match answered {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn answer(shared: &Shared, request: Request) -> Result<(), Refusal> {
    if request.headers().contains_key(RAW_DELIVERY) {
        let text = "raw delivery has no signature; set RawMessageDelivery of the subscription to false";
        warn!("message refused: {text}");
        return Err(Refusal::plain(StatusCode::FORBIDDEN, text));
    }
    let body = body::read(request).await?;
    receive(shared, &body).await.map_err(refuse)
}

async fn receive(shared: &Shared, body: &[u8]) -> Result<(), sns::Refusal> {
    let message = Message::parse(body)?;
    let now = Timestamp::now();
    let topic = shared.sns.verify(&message, now).await?;
    match &message.kind {
        Kind::Notification => notified(shared, topic, &message, now).await,
        Kind::SubscriptionConfirmation { token } => {
            shared
                .sns
                .confirm(topic, token)
                .await
                .map_err(sns::Refusal::Unavailable)?;
            info!(topic = topic.arn, "subscription confirmed");
            Ok(())
        }
        Kind::UnsubscribeConfirmation => {
            error!(
                topic = topic.arn,
                "the subscription was ended: no instance is announced any more; subscribe again"
            );
            Ok(())
        }
    }
}

async fn notified(shared: &Shared, topic: &Topic, message: &Message, now: Timestamp) -> Result<(), sns::Refusal> {
    let Some(change) = event::read(&message.text, topic)? else {
        debug!(message = message.id, "an event of no interest");
        return Ok(());
    };
    announce::record(&shared.claims.store, &shared.claims.config.get(), &change, now)
        .await
        .map_err(|error| sns::Refusal::Unavailable(error.into()))
}

fn refuse(refusal: sns::Refusal) -> Refusal {
    let title = refusal.to_string();
    match refusal {
        sns::Refusal::Malformed(_) => {
            warn!("message refused: {title}");
            Refusal::new(Reason::Malformed, title)
        }
        sns::Refusal::NotForUs(_) | sns::Refusal::NotAuthentic(_) => {
            warn!("message refused: {title}");
            Refusal::new(Reason::NotProven, title)
        }
        sns::Refusal::Unavailable(source) => {
            error!(error = format!("{source:#}"), "{title}");
            Refusal::new(Reason::Unavailable, title)
        }
    }
}
