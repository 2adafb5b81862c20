//! The instance metadata service, version 2 only: a session token first, then the tree of the instance that asks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;

use super::cloud::{Cloud, Instance, hexadecimal};
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
    ttl: u32,
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
                ttl,
            },
        );
        ([(TOKEN_TTL, ttl.to_string())], token).into_response()
    }

    fn admits(&self, from: SocketAddr, headers: &HeaderMap) -> bool {
        let shown = headers.get(TOKEN).and_then(|value| value.to_str().ok());
        let known = shown.and_then(|token| self.tokens().get(token).copied());
        let valid =
            known.is_some_and(|token| token.holder == from.ip() && token.expires > Instant::now() && token.ttl > 0);
        valid && !take_one(&mut self.faults().refuse_tokens)
    }

    /// The document at `path`; `None` where the tree has nothing.
    fn read(&self, instance: &Instance, path: &str) -> Option<String> {
        if path.strip_suffix('/').unwrap_or(path) == "/latest" || path == "/" {
            return Some(if path == "/" { "latest" } else { "dynamic\nmeta-data" }.to_owned());
        }
        let path = path.strip_prefix("/latest/")?;
        let leaves = self.tree(instance);
        let credentials = path.starts_with("meta-data/identity-credentials/ec2/security-credentials");
        if credentials && self.faults().without_credentials {
            return None;
        }
        leaves
            .iter()
            .find(|(name, _)| name == path)
            .map(|(_, text)| text.clone())
            .or_else(|| list(&leaves, path))
    }

    fn tree(&self, instance: &Instance) -> Vec<(String, String)> {
        let leaves = [
            ("dynamic/instance-identity/document", self.identity_document(instance)),
            ("meta-data/ami-id", instance.image.clone()),
            ("meta-data/identity-credentials/ec2/info", self.identity_info()),
            (
                "meta-data/identity-credentials/ec2/security-credentials/ec2-instance",
                self.credentials(instance),
            ),
            ("meta-data/instance-id", instance.id.clone()),
            ("meta-data/instance-life-cycle", instance.lifecycle.as_str().to_owned()),
            ("meta-data/instance-type", instance.kind.clone()),
            ("meta-data/local-hostname", host_name(instance, self.cloud.region())),
            ("meta-data/local-ipv4", instance.address.to_string()),
            ("meta-data/mac", instance.mac.clone()),
            ("meta-data/placement/availability-zone", instance.zone.clone()),
            ("meta-data/placement/region", self.cloud.region().to_owned()),
            ("meta-data/services/domain", "amazonaws.com".to_owned()),
            ("meta-data/services/partition", "aws".to_owned()),
        ];
        leaves.into_iter().map(|(path, text)| (path.to_owned(), text)).collect()
    }

    fn identity_document(&self, instance: &Instance) -> String {
        let document = json!({
            "accountId": self.cloud.account(),
            "architecture": "x86_64",
            "availabilityZone": instance.zone,
            "billingProducts": null,
            "devpayProductCodes": null,
            "marketplaceProductCodes": null,
            "imageId": instance.image,
            "instanceId": instance.id,
            "instanceType": instance.kind,
            "kernelId": null,
            "pendingTime": seconds(instance.launched),
            "privateIp": instance.address,
            "ramdiskId": null,
            "region": self.cloud.region(),
            "version": "2017-09-30",
        });
        format!("{document:#}")
    }

    fn identity_info(&self) -> String {
        let info =
            json!({ "Code": "Success", "LastUpdated": seconds(Timestamp::now()), "AccountId": self.cloud.account() });
        format!("{info:#}")
    }

    fn credentials(&self, instance: &Instance) -> String {
        let credentials = self.cloud.credentials_of(&instance.id);
        let answer = json!({
            "Code": "Success",
            "LastUpdated": seconds(credentials.issued),
            "Type": "AWS-HMAC",
            "AccessKeyId": credentials.access_key_id,
            "SecretAccessKey": credentials.secret_access_key,
            "Token": credentials.token,
            "Expiration": seconds(credentials.expires),
        });
        format!("{answer:#}")
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

/// The names below a folder, folders with a slash, as AWS lists them.
fn list(leaves: &[(String, String)], folder: &str) -> Option<String> {
    let prefix = format!("{}/", folder.trim_end_matches('/'));
    let below = leaves.iter().filter_map(|(path, _)| path.strip_prefix(&prefix));
    let mut names: Vec<String> = below
        .map(|rest| rest.split_inclusive('/').next().unwrap_or(rest).to_owned())
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join("\n"))
}

fn host_name(instance: &Instance, region: &str) -> String {
    format!(
        "ip-{}.{region}.compute.internal",
        instance.address.to_string().replace('.', "-")
    )
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn take_one(count: &mut u32) -> bool {
    let left = *count > 0;
    *count = count.saturating_sub(1);
    left
}
