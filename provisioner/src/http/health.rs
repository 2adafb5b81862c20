//! `/healthz`, `/readyz` and `/metrics`, on a listener that the internet does not reach.

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use crate::metrics::{self, Metrics};

/// Healthy is a process that answers; ready is one that says so.
pub fn router(is_ready: impl Fn() -> bool + Clone + Send + Sync + 'static, metrics: Metrics) -> Router {
    let ready = async move || {
        if is_ready() {
            (StatusCode::OK, "ok\n")
        } else {
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the API server has not told of all Workers yet\n",
            )
        }
    };
    let read = async move || ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], metrics.text());
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(read))
}
