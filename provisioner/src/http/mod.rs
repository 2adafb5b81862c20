//! What the internet may ask, one file a resource, and on a listener of its own what the cluster may.

mod body;
mod caller;
mod claim;
pub mod health;
mod predecessor;
mod problem;
mod progress;
pub mod server;
mod sns;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use dynk8s_api::{InstanceId, PrivateKey};
use tracing::{Instrument as _, info_span};

use self::problem::Refusal;
pub use self::progress::Pace;
use crate::claim::Claims;
use crate::metrics::Metrics;
use crate::sns::Verifier;

/// The largest message of SNS is 256 KiB.
const MAX_SNS_BODY: usize = 256 * 1024;

/// All that the handlers share.
#[derive(Debug)]
pub struct Shared {
    pub key: PrivateKey,
    pub claims: Claims,
    pub sns: Verifier,
    pub metrics: Metrics,
    pub pace: Pace,
}

/// What faces the internet.
pub fn router(shared: Arc<Shared>) -> Router {
    let workers = Router::new()
        .route("/v1/workers/{id}/claim", post(claim::post))
        .route("/v1/workers/{id}/progress", post(progress::post))
        .route_layer(from_fn(within_span))
        .layer(DefaultBodyLimit::max(dynk8s_api::MAX_BODY));
    let sns = Router::new()
        .route("/sns", post(sns::post))
        .layer(DefaultBodyLimit::max(MAX_SNS_BODY));
    workers
        .merge(sns)
        .with_state(Arc::clone(&shared))
        .merge(predecessor::router())
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(shared, caller::within_span))
}

/// Has every line of the log that is written meanwhile name the instance.
async fn within_span(Path(id): Path<String>, request: Request, next: Next) -> Response {
    let Ok(instance) = id.parse::<InstanceId>() else {
        return next.run(request).await;
    };
    next.run(request).instrument(info_span!("request", %instance)).await
}

async fn unknown(_: Request) -> Response {
    Refusal::plain(StatusCode::NOT_FOUND, "there is nothing here").into_response()
}

async fn not_allowed(_: Request) -> Response {
    Refusal::plain(StatusCode::METHOD_NOT_ALLOWED, "the resource does not know this method").into_response()
}
