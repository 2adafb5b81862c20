//! The instance metadata service, version 2 only: a session token first, then the tree of the instance that asks.

mod signature;
mod tree;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::sleep;

pub use self::signature::certificate;
use super::cloud::{Cloud, hexadecimal};
use super::journal::Journal;

const TOKEN: &str = "x-aws-ec2-metadata-token";
const TOKEN_TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const LONGEST_TTL: u32 = 21_600;

/// What the service does wrong until told otherwise. That it is absent or late is the matter of its `Server`'s door.
#[derive(Debug, Default)]
pub struct Faults {
    /// Time taken before each answer.
    pub delay: Duration,
    /// No credentials yet, as in an instance's first moments.
    pub without_credentials: bool,
    /// So many of the next requests with a valid token are answered 401.
    pub refuse_tokens: u32,
    /// So many of the next requests are answered 503.
    pub throttle: u32,
    /// Answers to these paths, in place of the right ones.
    pub replace: HashMap<String, (StatusCode, String)>,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Visit {
    pub from: SocketAddr,
    pub method: Method,
    pub path: String,
    pub status: StatusCode,
}

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub struct Imds {
    cloud: Cloud,
    faults: Arc<Mutex<Faults>>,
    tokens: Arc<Mutex<HashMap<String, Token>>>,
    journal: Journal<Visit>,
}

#[derive(Debug, Clone, Copy)]
struct Token {
    holder: std::net::IpAddr,
    expires: Instant,
}

impl Imds {
    pub fn new(cloud: Cloud) -> Self {
        Self {
            cloud,
            faults: Arc::default(),
            tokens: Arc::default(),
            journal: Journal::default(),
        }
    }

    pub fn routes(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn journal(&self) -> &Journal<Visit> {
        &self.journal
    }

    /// Lets all session tokens expire now.
    pub fn forget_tokens(&self) {
        self.tokens().clear();
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<String, Token>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn respond(&self, from: SocketAddr, request: &Request) -> Response {
        if take_one(&mut self.faults().throttle) {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        if request.method() == Method::PUT {
            return self.issue_token(from, request);
        }
        if request.method() != Method::GET {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        }
        if !self.admits(from, request.headers()) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        if let Some((status, body)) = self.faults().replace.get(request.uri().path()) {
            return (*status, body.clone()).into_response();
        }
        let document = self
            .cloud
            .instance_at(from.ip())
            .and_then(|instance| self.read(&instance, request.uri().path()));
        document.map_or_else(
            || StatusCode::NOT_FOUND.into_response(),
            |text| ([(header::CONTENT_TYPE, "text/plain")], text).into_response(),
        )
    }

    fn issue_token(&self, from: SocketAddr, request: &Request) -> Response {
        if request.uri().path() != "/latest/api/token" {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        }
        if request.headers().contains_key("x-forwarded-for") {
            return StatusCode::FORBIDDEN.into_response();
        }
        let ttl = request
            .headers()
            .get(TOKEN_TTL)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let Some(ttl) = ttl.filter(|seconds| (1..=LONGEST_TTL).contains(seconds)) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let token = format!("AQAEA{}==", hexadecimal(48));
        let expires = Instant::now() + Duration::from_secs(ttl.into());
        self.tokens().insert(
            token.clone(),
            Token {
                holder: from.ip(),
                expires,
            },
        );
        ([(TOKEN_TTL, ttl.to_string())], token).into_response()
    }

    fn admits(&self, from: SocketAddr, headers: &HeaderMap) -> bool {
        let shown = headers.get(TOKEN).and_then(|value| value.to_str().ok());
        let known = shown.and_then(|token| self.tokens().get(token).copied());
        let valid = known.is_some_and(|token| token.holder == from.ip() && token.expires > Instant::now());
        valid && !take_one(&mut self.faults().refuse_tokens)
    }
}

async fn answer(State(imds): State<Imds>, ConnectInfo(from): ConnectInfo<SocketAddr>, request: Request) -> Response {
    let delay = imds.faults().delay;
    sleep(delay).await;
    let response = imds.respond(from, &request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    imds.journal.push(Visit {
        from,
        method,
        path,
        status: response.status(),
    });
    response
}

fn take_one(count: &mut u32) -> bool {
    let left = *count > 0;
    *count = count.saturating_sub(1);
    left
}
