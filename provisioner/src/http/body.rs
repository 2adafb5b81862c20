//! Reading what a stranger sends.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request};
use axum::http::StatusCode;
use dynk8s_api::envelope::{Call, Place, Sealed};
use dynk8s_api::problem::Reason;
use dynk8s_api::{InstanceId, PrivateKey};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::problem::Refusal;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body, at most as long as its route allows; what is longer is not read to its end.
pub(super) async fn read(request: Request) -> Result<Bytes, Refusal> {
    let malformed = |text| Refusal::new(Reason::Malformed, text);
    match timeout(PATIENCE, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
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
