//! The ingress: honest at first, and whatever a test wants then.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::ingress::Ingress;
use dynk8s_lab::aws::server::Server;
use reqwest::Response;

use crate::ANYWHERE;

const NAME: &str = "dynk8s.onprem.example";

struct Site {
    ingress: Ingress,
    door: Server,
    _behind: Server,
    client: reqwest::Client,
}

impl Site {
    async fn serve() -> Self {
        let behind = Server::plain(ANYWHERE, echo()).await.unwrap();
        let authority = Authority::new("the public").unwrap();
        let ingress = Ingress::new(behind.address()).unwrap();
        let identity = authority.identity(&[NAME]).unwrap();
        let door = Server::tls(ANYWHERE, ingress.routes(), identity).await.unwrap();
        let client = authority
            .client()
            .unwrap()
            .resolve(NAME, door.address())
            .build()
            .unwrap();
        Self {
            ingress,
            door,
            _behind: behind,
            client,
        }
    }

    async fn post(&self, body: &'static str) -> reqwest::Result<Response> {
        let request = self.client.post(format!("https://{NAME}/v1/echo"));
        // What a client says of where it comes from must not reach the provisioner.
        request.header("x-forwarded-for", "203.0.113.9").body(body).send().await
    }

    async fn text(&self, body: &'static str) -> String {
        self.post(body).await.unwrap().text().await.unwrap()
    }
}

/// Stands for the provisioner: answers with who asked and what.
fn echo() -> Router {
    Router::new().fallback(async |headers: HeaderMap, body: Bytes| {
        let from = headers["x-forwarded-for"].to_str().unwrap_or_default().to_owned();
        let text = format!("{from}: {}", String::from_utf8_lossy(&body));
        (StatusCode::CREATED, [("x-kept", "yes")], text)
    })
}

#[tokio::test]
async fn passes_on_and_names_the_caller() {
    let site = Site::serve().await;
    let answer = site.post("hello").await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert_eq!(answer.headers()["x-kept"], "yes");
    assert_eq!(answer.text().await.unwrap(), "127.0.0.1: hello");
    let exchanges = site.ingress.journal().entries();
    assert_eq!(exchanges.len(), 1);
    assert_eq!(
        (exchanges[0].path.as_str(), &exchanges[0].request[..]),
        ("/v1/echo", &b"hello"[..])
    );
}

#[tokio::test]
async fn unavailable_says_when_to_come_again() {
    let site = Site::serve().await;
    site.ingress.faults().unavailable = Some(Duration::from_secs(7));
    let answer = site.post("hello").await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["retry-after"], "7");
    site.ingress.faults().unavailable = None;
    assert_eq!(site.post("hello").await.unwrap().status(), StatusCode::CREATED);
}

#[tokio::test]
async fn a_closed_door_refuses_and_opens_again() {
    let site = Site::serve().await;
    assert_eq!(site.text("one").await, "127.0.0.1: one");
    site.door.close().await;
    assert!(site.post("two").await.unwrap_err().is_connect());
    site.door.open().await;
    assert_eq!(site.text("three").await, "127.0.0.1: three");
}

#[tokio::test]
async fn a_certificate_of_a_stranger_is_shown_until_told_otherwise() {
    let site = Site::serve().await;
    let stranger = Authority::new("nobody trusts me").unwrap();
    site.door.present(Some(stranger.identity(&[NAME]).unwrap())).await;
    let error = format!("{:?}", site.post("hello").await.unwrap_err());
    assert!(error.contains("UnknownIssuer"), "{error}");
    site.door.present(None).await;
    assert_eq!(site.text("hello").await, "127.0.0.1: hello");
}

#[tokio::test]
async fn bodies_are_rewritten_each_way() {
    let site = Site::serve().await;
    site.ingress.faults().rewrite_request = Some(Arc::new(|_, _| Bytes::from_static(b"swapped")));
    assert_eq!(site.text("hello").await, "127.0.0.1: swapped");
    site.ingress.faults().rewrite_request = None;
    site.ingress.faults().rewrite_answer = Some(Arc::new(|path, _| Bytes::from(format!("forged at {path}"))));
    assert_eq!(site.text("hello").await, "forged at /v1/echo");
    // The journal keeps what each side really said.
    let last = site.ingress.journal().entries().pop().unwrap();
    assert_eq!(
        (&last.request[..], &last.answer[..]),
        (&b"hello"[..], &b"127.0.0.1: hello"[..])
    );
}

#[tokio::test]
async fn delays_as_told() {
    let site = Site::serve().await;
    site.ingress.faults().delay = Duration::from_millis(300);
    let started = Instant::now();
    site.text("hello").await;
    assert!(started.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn without_a_provisioner_it_is_a_bad_gateway() {
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let ingress = Ingress::new(nobody).unwrap();
    let server = Server::plain(ANYWHERE, ingress.routes()).await.unwrap();
    let client = Authority::new("nobody").unwrap().client().unwrap().build().unwrap();
    let answer = client
        .get(format!("http://{}/", server.address()))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
}
