//! As much of an API server as a provisioner needs to be ready: nothing is there, and nothing ever happens.

use std::net::SocketAddr;

use axum::Json;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(super) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

async fn answer(request: Request) -> Response {
    let watches = request.uri().query().is_some_and(|it| it.contains("watch=true"));
    let path = request.uri().path().to_owned();
    match *request.method() {
        Method::GET if path == "/readyz" => "ok".into_response(),
        Method::GET if watches => Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()).into_response(),
        Method::GET if path.ends_with("/dynk8s-provisioner-key") => {
            let status =
                json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404 });
            (StatusCode::NOT_FOUND, Json(status)).into_response()
        }
        Method::GET => {
            Json(json!({ "apiVersion": "v1", "kind": "List", "items": [], "metadata": { "resourceVersion": "1" } }))
                .into_response()
        }
        _ => {
            let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
            Json(serde_json::from_slice::<Value>(&body).unwrap()).into_response()
        }
    }
}
