//! Reading what a stranger sends.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{FromRequest as _, Request};
use axum::http::StatusCode;
use dynk8s_api::envelope::{Call, Place, Sealed};
use dynk8s_api::problem::Reason;
use dynk8s_api::{InstanceId, PrivateKey};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::problem::Refusal;
use super::server::Guest;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bodies of SNS and of agents are shorter. Of longer ones there may be only so many at a time, also of those that do not
/// tell their length.
const LARGE: u64 = 16 * 1024;

/// The body, at most as long as its route allows; what is longer is not read to its end.
pub(super) async fn read(request: Request) -> Result<Bytes, Refusal> {
    let malformed = |text| Refusal::new(Reason::Malformed, text);
    let guest = request.extensions().get::<Arc<Guest>>().cloned();
    let large = request.body().size_hint().upper().is_none_or(|it| it > LARGE);
    if large && guest.as_ref().is_some_and(|it| !it.may_send_much()) {
        return Err(Refusal::new(Reason::Busy, "too many large bodies are being sent"));
    }
    match timeout(PATIENCE, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => {
            if let Some(guest) = guest {
                guest.served();
            }
            Ok(body)
        }
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(malformed("the body is too long").with_status(StatusCode::PAYLOAD_TOO_LARGE))
        }
        Ok(Err(_)) => Err(Refusal::plain(StatusCode::BAD_REQUEST, "the body did not arrive whole")),
        Err(_) => Err(Refusal::plain(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time",
        )),
    }
}

/// The instance that the path names.
pub(super) fn instance(id: &str) -> Result<InstanceId, Refusal> {
    id.parse()
        .map_err(|_| Refusal::new(Reason::Malformed, "the path names no instance"))
}

/// Opens an envelope and reads what is in it. What is wrong with a secret content is told by place only.
pub(super) fn open<T: DeserializeOwned>(
    body: &[u8],
    call: Call,
    key: &PrivateKey,
    instance: &InstanceId,
) -> Result<(Sealed, T), Refusal> {
    let malformed = |what| Refusal::new(Reason::Malformed, what);
    let sealed: Sealed = serde_json::from_slice(body).map_err(|_| malformed("the body is no envelope".to_owned()))?;
    let place = Place {
        call,
        audience: &key.public(),
        instance,
        answers: None,
    };
    let opened = sealed.open(key, &place);
    let content = opened.map_err(|error| Refusal::new(Reason::NotProven, error.to_string()))?;
    let message = serde_json::from_slice(&content).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        malformed(format!(
            "the message is not of the agreed form at line {line}, column {column}"
        ))
    })?;
    Ok((sealed, message))
}
