//! `/healthz`, `/readyz` and `/metrics`, on a listener that the internet does not reach.

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use crate::metrics::{self, Metrics};
use crate::readiness::Readiness;

/// Healthy is a process that answers; ready is one that can do its work now, else it says why not.
pub fn router(readiness: Readiness, metrics: Metrics) -> Router {
    let ready = async move || match readiness.obstacle() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n"),
    };
    let read = async move || ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], metrics.text());
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(read))
}
