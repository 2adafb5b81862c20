//! `POST /v1/workers/{id}/claim`

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use dynk8s_api::InstanceId;
use dynk8s_api::claim::{ClaimAnswer, ClaimRequest};
use dynk8s_api::envelope::{Call, Place, Sealed};
use dynk8s_api::problem::Reason;
use tracing::warn;
use zeroize::Zeroizing;

use super::problem::Refusal;
use super::{Shared, body};

pub(super) async fn post(State(shared): State<Arc<Shared>>, Path(id): Path<String>, request: Request) -> Response {
    let answered = match open(&shared, &id, request).await {
        Ok((instance, sealed, message)) => answer(&shared, &instance, &sealed, message).await,
        Err(refusal) => {
            // Only a well-formed id is logged as it is. Nobody is known to have sent it, so that there is no claim key.
            let instance = id
                .parse::<InstanceId>()
                .map_or_else(|it| it.to_string(), |it| it.to_string());
            warn!(instance, outcome = "refused", reason = refusal.outcome(), because = %refusal, "claim");
            Err(refusal)
        }
    };
    match answered {
        Ok(sealed) => {
            shared.metrics.claim("served");
            ([(CONTENT_TYPE, "application/json")], sealed).into_response()
        }
        Err(refusal) => {
            shared.metrics.claim(refusal.outcome());
            refusal.into_response()
        }
    }
}

async fn open(shared: &Shared, id: &str, request: Request) -> Result<(InstanceId, Sealed, ClaimRequest), Refusal> {
    let instance = body::instance(id)?;
    let body = body::read(request).await?;
    let (sealed, message) = body::open(&body, Call::Claim, &shared.key, &instance)?;
    Ok((instance, sealed, message))
}

async fn answer(
    shared: &Shared,
    instance: &InstanceId,
    sealed: &Sealed,
    message: ClaimRequest,
) -> Result<String, Refusal> {
    let answer = shared.claims.answer(instance, sealed.sender, message).await?;
    seal(shared, instance, sealed, &answer)
}

fn seal(shared: &Shared, instance: &InstanceId, request: &Sealed, answer: &ClaimAnswer) -> Result<String, Refusal> {
    let place = Place {
        call: Call::Claim,
        audience: &shared.key.public(),
        instance,
        answers: Some(request.hash()),
    };
    let unsealed = |text: String| Refusal::new(Reason::Unavailable, text);
    let content = serde_json::to_vec(answer).map_err(|_| unsealed("failed to write the answer".to_owned()))?;
    let content = Zeroizing::new(content);
    let sealed = Sealed::seal(&content, &shared.key, &request.sender, &place);
    let sealed = sealed.map_err(|error| unsealed(error.to_string()))?;
    serde_json::to_string(&sealed).map_err(|_| unsealed("failed to write the envelope".to_owned()))
}
