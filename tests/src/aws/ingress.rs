//! What stands between the internet and the provisioner: ends TLS, passes requests on, and may be dishonest.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::sleep;

use super::journal::Journal;

const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// Changes a body on its way; the path tells which.
pub type Rewrite = Arc<dyn Fn(&str, Bytes) -> Bytes + Send + Sync>;

/// What the ingress does wrong until told otherwise. Being unreachable or showing a wrong certificate is the matter of its `Server`.
#[derive(Default, Clone)]
pub struct Faults {
    /// Time taken before each request is passed on.
    pub delay: Duration,
    /// Answers 503 with this `Retry-After` in place of passing requests on.
    pub unavailable: Option<Duration>,
    pub rewrite_request: Option<Rewrite>,
    pub rewrite_answer: Option<Rewrite>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Faults")
            .field("delay", &self.delay)
            .field("unavailable", &self.unavailable)
            .finish_non_exhaustive()
    }
}

/// A request that came, as the client sent it, and the answer, as the provisioner gave it.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub from: SocketAddr,
    pub method: Method,
    pub path: String,
    pub request: Bytes,
    pub status: StatusCode,
    pub answer: Bytes,
}

/// The ingress; clones share everything.
#[derive(Debug, Clone)]
pub struct Ingress {
    upstream: SocketAddr,
    client: reqwest::Client,
    faults: Arc<Mutex<Faults>>,
    journal: Journal<Exchange>,
}

impl Ingress {
    /// Passes requests on to the plain listener at `upstream`.
    pub fn new(upstream: SocketAddr) -> anyhow::Result<Self> {
        // The way to the provisioner is not encrypted, so there is nobody to trust; without the choice there must be a bundle.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .tls_certs_only([])
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("failed to make the ingress's client")?;
        Ok(Self {
            upstream,
            client,
            faults: Arc::default(),
            journal: Journal::default(),
        })
    }

    pub fn routes(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn journal(&self) -> &Journal<Exchange> {
        &self.journal
    }

    async fn pass(&self, from: SocketAddr, request: Request) -> Exchanged {
        let (parts, body) = request.into_parts();
        let received = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
        let path = parts.uri.path().to_owned();
        let exchange = |status, answer: &Bytes| Exchange {
            from,
            method: parts.method.clone(),
            path: path.clone(),
            request: received.clone(),
            status,
            answer: answer.clone(),
        };
        let faults = self.faults().clone();
        sleep(faults.delay).await;
        if let Some(after) = faults.unavailable {
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, after.as_secs().into())]);
            return (
                exchange(StatusCode::SERVICE_UNAVAILABLE, &Bytes::new()),
                headers,
                Bytes::new(),
            );
        }
        let sent = rewritten(faults.rewrite_request.as_ref(), &path, received.clone());
        let target = format!(
            "http://{}{}",
            self.upstream,
            parts.uri.path_and_query().map_or("/", |it| it.as_str())
        );
        let headers = forwarded(&parts.headers, from);
        match self.ask(parts.method.clone(), target, headers, sent).await {
            Ok((status, headers, answer)) => {
                let shown = rewritten(faults.rewrite_answer.as_ref(), &path, answer.clone());
                (exchange(status, &answer), headers, shown)
            }
            Err(error) => {
                tracing::debug!("ingress failed to reach {}: {error}", self.upstream);
                (
                    exchange(StatusCode::BAD_GATEWAY, &Bytes::new()),
                    HeaderMap::new(),
                    Bytes::new(),
                )
            }
        }
    }

    async fn ask(
        &self,
        method: Method,
        target: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> reqwest::Result<(StatusCode, HeaderMap, Bytes)> {
        let answer = self
            .client
            .request(method, target)
            .headers(headers)
            .body(body)
            .send()
            .await?;
        let (status, headers) = (answer.status(), end_to_end(answer.headers()));
        Ok((status, headers, answer.bytes().await?))
    }
}

type Exchanged = (Exchange, HeaderMap, Bytes);

async fn answer(
    State(ingress): State<Ingress>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (exchange, headers, shown) = ingress.pass(from, request).await;
    let status = exchange.status;
    ingress.journal.push(exchange);
    (status, headers, shown).into_response()
}

fn rewritten(rewrite: Option<&Rewrite>, path: &str, body: Bytes) -> Bytes {
    rewrite.map_or(body.clone(), |rewrite| rewrite(path, body))
}

fn forwarded(headers: &HeaderMap, from: SocketAddr) -> HeaderMap {
    let mut headers = end_to_end(headers);
    let set = |headers: &mut HeaderMap, name: &'static str, value: &str| {
        if let Ok(value) = value.parse() {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    // Replaced, not appended to: what a client says of its own origin is worth nothing.
    set(&mut headers, "x-forwarded-for", &from.ip().to_string());
    set(&mut headers, "x-forwarded-proto", "https");
    headers
}

/// The headers without those that belong to one connection.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ] {
        headers.remove(name);
    }
    headers
}
