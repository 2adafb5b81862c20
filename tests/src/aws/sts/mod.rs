//! The Security Token Service as far as `GetCallerIdentity`: it believes nobody whose signature it cannot compute itself.

mod answer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use tokio::time::sleep;

use super::cloud::{Cloud, Credentials};
use super::journal::Journal;
use super::sigv4::{self, Claim, Refusal};

const BODY_LIMIT: usize = 64 * 1024;
const VERSION: &str = "2011-06-15";

/// What the service does wrong until told otherwise.
#[derive(Debug, Default)]
pub struct Faults {
    /// Time taken before each answer.
    pub delay: Duration,
    /// So many of the next requests are answered "Throttling".
    pub throttle: u32,
    /// So many of the next requests are answered 503.
    pub unavailable: u32,
    /// The answer to every request, in place of the right one.
    pub replace: Option<(StatusCode, String)>,
}

/// One call and its outcome: the caller's ARN, or the error's code.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: String,
    pub outcome: Result<String, String>,
}

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub struct Sts {
    cloud: Cloud,
    faults: Arc<Mutex<Faults>>,
    journal: Journal<Call>,
}

#[derive(Debug)]
struct Identity {
    arn: String,
    user: String,
    account: String,
}

#[derive(Debug)]
struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Sts {
    pub fn new(cloud: Cloud) -> Self {
        Self {
            cloud,
            faults: Arc::default(),
            journal: Journal::default(),
        }
    }

    /// The name under which the service is reached.
    pub fn host(&self) -> String {
        format!("sts.{}.amazonaws.com", self.cloud.region())
    }

    pub fn routes(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn journal(&self) -> &Journal<Call> {
        &self.journal
    }

    fn fault(&self) -> Option<Failure> {
        let mut faults = self.faults();
        if faults.throttle > 0 {
            faults.throttle -= 1;
            return Some(Failure::new(StatusCode::BAD_REQUEST, "Throttling", "Rate exceeded"));
        }
        if faults.unavailable > 0 {
            faults.unavailable -= 1;
            return Some(Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                "Service Unavailable",
            ));
        }
        None
    }

    fn identify(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<Identity, Failure> {
        if let Some(failure) = self.fault() {
            return Err(failure);
        }
        check_action(method, uri, body)?;
        let request = sigv4::Request {
            method,
            uri,
            headers,
            body,
        };
        let claim = Claim::read(&request)?;
        let credentials = self.credentials(&claim)?;
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default();
        if host != self.host() {
            let message = format!("Credential should be scoped to a valid region: host is '{host}'");
            return Err(Failure::new(StatusCode::FORBIDDEN, "SignatureDoesNotMatch", &message));
        }
        claim.verify(
            &request,
            &credentials.secret_access_key,
            self.cloud.region(),
            "sts",
            Timestamp::now(),
        )?;
        let (account, instance) = (self.cloud.account(), &credentials.instance);
        Ok(Identity {
            arn: format!("arn:aws:sts::{account}:assumed-role/aws:ec2-instance/{instance}"),
            user: format!("{account}:aws:ec2-instance:{instance}"),
            account: account.to_owned(),
        })
    }

    fn credentials(&self, claim: &Claim) -> Result<Credentials, Failure> {
        let known = self.cloud.credentials_by_key(&claim.access_key_id);
        let Some(credentials) = known.filter(|it| claim.token.as_ref() == Some(&it.token)) else {
            return Err(Failure::new(
                StatusCode::FORBIDDEN,
                "InvalidClientTokenId",
                "The security token included in the request is invalid.",
            ));
        };
        if credentials.expires <= Timestamp::now() {
            return Err(Failure::new(
                StatusCode::FORBIDDEN,
                "ExpiredToken",
                "The security token included in the request is expired",
            ));
        }
        Ok(credentials)
    }
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::MissingAuthenticationToken => Self::new(
                StatusCode::FORBIDDEN,
                "MissingAuthenticationToken",
                "Request is missing Authentication Token",
            ),
            Refusal::IncompleteSignature(message) => Self {
                status: StatusCode::BAD_REQUEST,
                code: "IncompleteSignature",
                message,
            },
            Refusal::SignatureDoesNotMatch(message) => Self {
                status: StatusCode::FORBIDDEN,
                code: "SignatureDoesNotMatch",
                message,
            },
        }
    }
}

async fn answer(State(sts): State<Sts>, request: Request) -> Response {
    let delay = sts.faults().delay;
    sleep(delay).await;
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let result = sts.identify(&parts.method, &parts.uri, &parts.headers, &body);
    let outcome = result
        .as_ref()
        .map(|identity| identity.arn.clone())
        .map_err(|failure| failure.code.to_owned());
    let wants_json = parts
        .headers
        .get(header::ACCEPT)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    let body = String::from_utf8_lossy(&body).into_owned();
    sts.journal.push(Call {
        method: parts.method,
        headers: parts.headers,
        body,
        outcome,
    });
    if let Some(replacement) = sts.faults().replace.clone() {
        return replacement.into_response();
    }
    answer::render(&result, wants_json)
}

fn check_action(method: &Method, uri: &Uri, body: &[u8]) -> Result<(), Failure> {
    let text = if method == Method::POST {
        String::from_utf8_lossy(body).into_owned()
    } else {
        uri.query().unwrap_or_default().to_owned()
    };
    let parameters: BTreeMap<String, String> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let parameter = |name: &str| parameters.get(name).map(String::as_str);
    let known =
        uri.path() == "/" && parameter("Action") == Some("GetCallerIdentity") && parameter("Version") == Some(VERSION);
    if known {
        return Ok(());
    }
    let action = parameter("Action").unwrap_or_default();
    let message = format!(
        "Could not find operation {action} for version {}",
        parameter("Version").unwrap_or("NO_VERSION_SPECIFIED")
    );
    Err(Failure::new(StatusCode::BAD_REQUEST, "InvalidAction", &message))
}
