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
use tracing::{Instrument as _, debug, error, info, info_span, warn};

use super::problem::Refusal;
use super::{Shared, body};
use crate::announce;
use crate::sns::message::{Kind, Message};
use crate::sns::outcome::Outcome;
use crate::sns::topic::Topic;
use crate::sns::{self, event};

pub(super) async fn post(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (outcome, response) = match answer(&shared, request).await {
        Ok(outcome) => (outcome, StatusCode::OK.into_response()),
        Err((outcome, refusal)) => (outcome, refusal.into_response()),
    };
    shared.metrics.sns_message(outcome.as_str());
    response
}

async fn answer(shared: &Shared, request: Request) -> Result<Outcome, (Outcome, Refusal)> {
    let body = body::read(request).await.map_err(|it| (Outcome::CutOff, it))?;
    receive(shared, &body).await.map_err(refuse)
}

async fn receive(shared: &Shared, body: &[u8]) -> Result<Outcome, sns::Refusal> {
    let message = Message::parse(body)?;
    let now = Timestamp::now();
    let topics = shared.claims.config.get().sns.listed();
    let topic = shared.sns.verify(&topics, &message, now).await?;
    match &message.kind {
        Kind::Notification => notified(shared, topic, &message, now).await,
        Kind::SubscriptionConfirmation { token } => {
            let confirmed = shared.sns.confirm(topic, token).await;
            confirmed.map_err(sns::Refusal::Unavailable)?;
            info!(topic = topic.arn, "subscription confirmed");
            Ok(Outcome::Confirmed)
        }
        Kind::UnsubscribeConfirmation => {
            error!(
                topic = topic.arn,
                "the subscription was ended: no instance is announced any more; subscribe again with `aws sns subscribe \
                 --topic-arn {} --protocol https --notification-endpoint <the URL of /sns>`, and find out who ended it",
                topic.arn
            );
            Ok(Outcome::Unsubscribed)
        }
    }
}

async fn notified(shared: &Shared, topic: &Topic, message: &Message, now: Timestamp) -> Result<Outcome, sns::Refusal> {
    let Some(change) = event::read(&message.text, topic)? else {
        debug!(
            message = message.id,
            "an event of another kind, or of a state that is not known"
        );
        return Ok(Outcome::OtherEvent);
    };
    announce::record(&shared.claims.store, &shared.claims.config.get(), &change, now)
        .instrument(info_span!("announcement", instance = %change.instance))
        .await
        .map_err(|error| sns::Refusal::Unavailable(error.into()))
}

fn refuse(refusal: sns::Refusal) -> (Outcome, Refusal) {
    let (outcome, title) = (refusal.outcome(), refusal.to_string());
    let reason = match refusal {
        sns::Refusal::Unavailable(source) => {
            warn!(error = format!("{source:#}"), "{title}");
            return (outcome, Refusal::new(Reason::Unavailable, title));
        }
        sns::Refusal::Malformed(_) => Reason::Malformed,
        _ => Reason::NotProven,
    };
    warn!(outcome = outcome.as_str(), "message refused: {title}");
    (outcome, Refusal::new(reason, title))
}
