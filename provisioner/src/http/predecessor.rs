//! What the predecessor's shell script asks for, `GET /wireguard/config/{id}` and `GET /kubeadm/kubeconfig/{id}`: both gave
//! secrets to whoever knew an instance id. They are gone, and the answer says where to read on.

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use dynk8s_api::InstanceId;
use tracing::warn;

use super::problem::Refusal;

const TEXT: &str = "this interface of the shell script is gone: put dynk8s-agent into the machine image, see \
                    \"Coming from the shell script\" in the README of dynk8s, and docs/protocol.md for what it asks instead";

/// With a slash at the end, too: what people wrote into user data is not known.
const PATHS: [&str; 4] = [
    "/wireguard/config/{id}",
    "/wireguard/config/{id}/",
    "/kubeadm/kubeconfig/{id}",
    "/kubeadm/kubeconfig/{id}/",
];

pub(super) fn router() -> Router {
    PATHS
        .iter()
        .fold(Router::new(), |router, path| router.route(path, get(gone)))
}

async fn gone(Path(id): Path<String>) -> Refusal {
    if let Ok(instance) = id.parse::<InstanceId>() {
        warn!(%instance, "an instance asks as the predecessor's shell script did; its image needs dynk8s-agent");
    }
    Refusal::plain(StatusCode::GONE, TEXT)
}
