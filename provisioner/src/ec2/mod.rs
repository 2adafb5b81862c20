//! What EC2, EC2 Auto Scaling and STS answer to whoever has credentials: which instances are there, and of which group.
//!
//! Of three services four answers are needed. They are asked for in their Query API, for to compile AWS's own client of EC2
//! takes longer than all the rest of the provisioner; its library for credentials and its signer are used.

mod answer;
mod credentials;
mod pages;
mod request;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use aws_credential_types::provider::SharedCredentialsProvider;
use reqwest::StatusCode;
use tokio::sync::Mutex;
use tokio::time::sleep;

pub use self::answer::Instance;
pub use self::credentials::chain;
pub use self::pages::GroupTags;

use self::credentials::Keeper;
use self::request::Question;
use crate::fetch;

/// The largest answer that is read.
const MAX_ANSWER: usize = 16 << 20;

/// How often a question is asked whose answer may come later, and how long after the first time; each wait is twice the one
/// before.
const ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Why AWS did not tell.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody has credentials for us.
    #[error("failed to find AWS credentials")]
    Credentials(#[source] anyhow::Error),
    /// The request cannot be made of what there is.
    #[error("failed to sign a request to `{host}`")]
    Unsignable { host: String, source: anyhow::Error },
    /// It asks for patience.
    #[error("`{host}` answers {code}")]
    Throttled { host: String, code: String },
    /// It cannot be reached, or is broken.
    #[error("failed to ask `{host}`")]
    Unavailable { host: String, source: anyhow::Error },
    /// It does not want to.
    #[error("`{host}` refuses with {code}; look at the credentials and their policy")]
    Refused { host: String, code: String },
    /// It says something else than what is documented.
    #[error("`{host}` {fault}")]
    Malformed { host: String, fault: &'static str },
}

impl Error {
    /// Whether asking again soon may help.
    fn is_transient(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::Unavailable { .. })
    }
}

/// Asks, one question at a time.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    credentials: Keeper,
    turn: Mutex<()>,
}

impl Client {
    /// A client that asks with these credentials.
    pub fn new(http: reqwest::Client, credentials: SharedCredentialsProvider) -> Self {
        Self {
            http,
            credentials: Keeper::new(credentials),
            turn: Mutex::default(),
        }
    }

    /// The body of the answer. What may pass is waited for.
    async fn ask(&self, region: &str, question: &Question) -> Result<Vec<u8>, Error> {
        let _turn = self.turn.lock().await;
        let mut wait = FIRST_WAIT;
        for _ in 1..ATTEMPTS {
            match self.ask_once(region, question).await {
                Err(error) if error.is_transient() => sleep(wait.mul_f64(rand::random_range(0.5..1.5))).await,
                done => return done,
            }
            wait *= 2;
        }
        self.ask_once(region, question).await
    }

    async fn ask_once(&self, region: &str, question: &Question) -> Result<Vec<u8>, Error> {
        let credentials = self.credentials.get().await?;
        let host = question.service.host(region);
        let request = question.signed(&self.http, region, &credentials, SystemTime::now());
        let request = request.map_err(|source| Error::Unsignable {
            host: host.clone(),
            source,
        })?;
        let answer = fetch::bounded(request, MAX_ANSWER).await;
        let answer = answer.map_err(|source| Error::Unavailable {
            host: host.clone(),
            source,
        })?;
        if answer.status == StatusCode::OK {
            return Ok(answer.body);
        }
        let error = refusal(host, answer.status, answer::error_code(&answer.body));
        if matches!(error, Error::Refused { .. }) {
            // They may have been replaced before their time.
            self.credentials.forget().await;
        }
        Err(error)
    }
}

fn refusal(host: String, status: StatusCode, code: Option<String>) -> Error {
    const PATIENCE: [&str; 4] = [
        "RequestLimitExceeded",
        "RequestThrottled",
        "Throttling",
        "ThrottlingException",
    ];
    let code = code.unwrap_or_else(|| status.to_string());
    if PATIENCE.contains(&code.as_str()) || status == StatusCode::TOO_MANY_REQUESTS {
        Error::Throttled { host, code }
    } else if status.is_server_error() {
        let source = anyhow::anyhow!("it answers {code}");
        Error::Unavailable { host, source }
    } else {
        Error::Refused { host, code }
    }
}
