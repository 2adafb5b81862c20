//! EC2 and EC2 Auto Scaling as far as `DescribeInstances` and `DescribeTags`, for whoever signs as AWS demands.

mod answer;
mod parameters;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use self::parameters::Parameters;
use super::cloud::Cloud;
use super::journal::Journal;
use super::sigv4::{self, Claim, Refusal};

const BODY_LIMIT: usize = 64 * 1024;
const EC2_VERSION: &str = "2016-11-15";
const AUTO_SCALING_VERSION: &str = "2011-01-01";

/// What the services do wrong until told otherwise.
#[derive(Debug, Default)]
pub struct Faults {
    /// So many of the next requests are answered `RequestLimitExceeded`.
    pub throttle: u32,
    /// So many empty pages come before the first one that is not.
    pub empty_pages: u32,
    /// Every page leads to the same next one.
    pub circle: bool,
    /// Nothing is known of any instance.
    pub blind: bool,
    /// The account that instances are said to be of.
    pub account: Option<String>,
    /// Answers end after so many bytes.
    pub cut: Option<usize>,
    /// So many spaces stand before the end of an answer.
    pub padding: usize,
}

/// One question and the code of the error, if it was answered with one.
#[derive(Debug, Clone)]
pub struct Call {
    pub host: String,
    pub body: String,
    pub refused: Option<&'static str>,
}

/// Both services; clones share everything.
#[derive(Debug, Clone)]
pub struct Ec2 {
    cloud: Cloud,
    known: Arc<Mutex<Known>>,
    faults: Arc<Mutex<Faults>>,
    journal: Journal<Call>,
}

/// What the account's instances and groups have beside what their metadata say.
#[derive(Debug, Default)]
struct Known {
    states: BTreeMap<String, String>,
    tags: BTreeMap<String, BTreeMap<String, String>>,
    groups: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug)]
struct Failure {
    status: StatusCode,
    code: &'static str,
}

impl Ec2 {
    pub fn new(cloud: Cloud) -> Self {
        Self {
            cloud,
            known: Arc::default(),
            faults: Arc::default(),
            journal: Journal::default(),
        }
    }

    /// The names under which the services are reached.
    pub fn hosts(&self) -> [String; 2] {
        ["ec2", "autoscaling"].map(|it| format!("{it}.{}.amazonaws.com", self.cloud.region()))
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

    /// An instance is `running` until told otherwise; one that the cloud has not is unknown.
    pub fn set_state(&self, instance: &str, state: &str) {
        self.known().states.insert(instance.to_owned(), state.to_owned());
    }

    pub fn tag(&self, instance: &str, key: &str, value: &str) {
        let mut known = self.known();
        let tags = known.tags.entry(instance.to_owned()).or_default();
        tags.insert(key.to_owned(), value.to_owned());
    }

    pub fn tag_group(&self, group: &str, key: &str, value: &str) {
        let mut known = self.known();
        let tags = known.groups.entry(group.to_owned()).or_default();
        tags.insert(key.to_owned(), value.to_owned());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<String, Failure> {
        let host = headers
            .get(header::HOST)
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default();
        let [ec2, auto_scaling] = self.hosts();
        let service = if host == ec2 { "ec2" } else { "autoscaling" };
        if host != ec2 && host != auto_scaling {
            return Err(Failure::new(StatusCode::FORBIDDEN, "SignatureDoesNotMatch"));
        }
        let request = sigv4::Request {
            method,
            uri,
            headers,
            body,
        };
        self.verify(&request, service)?;
        let mut faults = self.faults();
        if faults.throttle > 0 {
            faults.throttle -= 1;
            return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "RequestLimitExceeded"));
        }
        let parameters = Parameters::read(body);
        let asked = (parameters.get("Action"), parameters.get("Version"));
        let text = match (service, asked) {
            ("ec2", (Some("DescribeInstances"), Some(EC2_VERSION))) => self.instances(&mut faults, &parameters),
            ("autoscaling", (Some("DescribeTags"), Some(AUTO_SCALING_VERSION))) => self.tags(&parameters),
            _ => Err(Failure::new(StatusCode::BAD_REQUEST, "InvalidAction")),
        }?;
        Ok(spoil(text, &faults))
    }

    fn verify(&self, request: &sigv4::Request<'_>, service: &str) -> Result<(), Failure> {
        let claim = Claim::read(request)?;
        let credentials = self.cloud.credentials_by_key(&claim.access_key_id);
        let credentials = credentials
            .filter(|it| claim.token.as_ref() == Some(&it.token))
            .ok_or(Failure::new(StatusCode::UNAUTHORIZED, "AuthFailure"))?;
        if credentials.expires <= Timestamp::now() {
            return Err(Failure::new(StatusCode::BAD_REQUEST, "RequestExpired"));
        }
        let (secret, region) = (&credentials.secret_access_key, self.cloud.region());
        Ok(claim.verify(request, secret, region, service, Timestamp::now())?)
    }

    fn instances(&self, faults: &mut Faults, parameters: &Parameters) -> Result<String, Failure> {
        let asked = parameters.filter("Filter.1.Name", "instance-id", "Filter.1.Value.");
        let asked = asked.ok_or(Failure::new(StatusCode::BAD_REQUEST, "InvalidParameterValue"))?;
        if faults.circle || faults.empty_pages > 0 {
            faults.empty_pages = faults.empty_pages.saturating_sub(1);
            return Ok(answer::instances(&[], Some("next")));
        }
        let known = self.known();
        let account = faults.account.as_deref().unwrap_or(self.cloud.account());
        let found = asked
            .iter()
            .filter(|_| !faults.blind)
            .filter_map(|id| self.cloud.instance(id));
        let described: Vec<String> = found
            .map(|it| {
                let state = known.states.get(&it.id).map_or("running", String::as_str);
                answer::instance(&it, account, state, known.tags.get(&it.id))
            })
            .collect();
        Ok(answer::instances(&described, None))
    }

    fn tags(&self, parameters: &Parameters) -> Result<String, Failure> {
        let name = "Filters.member.1.Name";
        let asked = parameters.filter(name, "auto-scaling-group", "Filters.member.1.Values.member.");
        let asked = asked.ok_or(Failure::new(StatusCode::BAD_REQUEST, "ValidationError"))?;
        let known = self.known();
        let groups = asked.iter().filter_map(|it| known.groups.get_key_value(it));
        Ok(answer::tags(groups))
    }
}

impl Failure {
    fn new(status: StatusCode, code: &'static str) -> Self {
        Self { status, code }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::MissingAuthenticationToken => Self::new(StatusCode::BAD_REQUEST, "MissingAuthenticationToken"),
            Refusal::IncompleteSignature(_) => Self::new(StatusCode::BAD_REQUEST, "IncompleteSignature"),
            Refusal::SignatureDoesNotMatch(_) => Self::new(StatusCode::UNAUTHORIZED, "SignatureDoesNotMatch"),
        }
    }
}

/// The answer as the faults have it.
fn spoil(text: String, faults: &Faults) -> String {
    let mut text = text;
    text.truncate(faults.cut.unwrap_or(usize::MAX));
    text.push_str(&" ".repeat(faults.padding));
    text
}

async fn answer(State(ec2): State<Ec2>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let result = ec2.answer(&parts.method, &parts.uri, &parts.headers, &body);
    let host = parts.headers.get(header::HOST).and_then(|it| it.to_str().ok());
    ec2.journal.push(Call {
        host: host.unwrap_or_default().to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
        refused: result.as_ref().err().map(|it| it.code),
    });
    match result {
        Ok(text) => ([(header::CONTENT_TYPE, "text/xml;charset=UTF-8")], text).into_response(),
        Err(failure) => (failure.status, answer::failure(failure.code)).into_response(),
    }
}
