//! The provisioner over HTTPS: sealed requests out, sealed answers or refusals in, both bounded.

use std::cell::Cell;
use std::time::Duration;

use dynk8s_api::claim::{ClaimAnswer, ClaimRequest};
use dynk8s_api::envelope::{Call, Place, Sealed};
use dynk8s_api::problem::{self, Problem};
use dynk8s_api::progress::Progress;
use dynk8s_api::{InstanceId, MAX_BODY, PrivateKey, PublicKey, claim_path, progress_path};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{CONTENT_TYPE, DATE, RETRY_AFTER};
use reqwest::{Client, Response};
use url::Url;

use super::proof::Unsignable;
use crate::{clock, facts};

/// Why a call did not bring what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no connection to the provisioner `{host}`")]
    Unreachable {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("the provisioner refused ({reason}): {title}")]
    Refused {
        /// The last word of the refusal's type, also where this release does not know it.
        reason: String,
        title: String,
        problem: Problem,
        retry_after: Option<Duration>,
    },
    #[error("`{host}` answered {status}, which is not the provisioner's way to answer")]
    Foreign {
        host: String,
        status: u16,
        retry_after: Option<Duration>,
    },
    #[error("the answer was altered on the way: {0}")]
    Altered(&'static str),
    #[error("the instance's credentials could not be read")]
    Credentials(#[source] facts::Error),
    #[error("the proof could not be made")]
    Proof(#[source] Unsignable),
    #[error("the request could not be made")]
    Request,
}

/// A client of one provisioner, known by its URL and by its key.
#[derive(Clone, Debug)]
pub(crate) struct Provisioner {
    http: Client,
    url: Url,
    key: PublicKey,
    skew: Cell<Option<SignedDuration>>,
}

impl Provisioner {
    pub(crate) fn new(http: Client, url: Url, key: PublicKey) -> Self {
        Self {
            http,
            url,
            key,
            skew: Cell::new(None),
        }
    }

    /// Host and port, for people.
    pub(crate) fn host(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or(443);
        format!("{}:{port}", self.url.host_str().unwrap_or_default())
    }

    /// How far this machine's clock is ahead of the provisioner's, as its last answer told.
    pub(crate) fn skew(&self) -> Option<SignedDuration> {
        self.skew.get()
    }

    pub(super) async fn claim(
        &self,
        id: &InstanceId,
        key: &PrivateKey,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer, Error> {
        let place = self.place(Call::Claim, id);
        let message = serde_json::to_vec(request).map_err(|_| Error::Request)?;
        let sealed = Sealed::seal(&message, key, &self.key, &place).map_err(|_| Error::Request)?;
        let (_, body) = self.post(&claim_path(id), &sealed).await?;
        let answer: Sealed = serde_json::from_slice(&body).map_err(|_| Error::Altered("it is no envelope"))?;
        if answer.sender != self.key {
            return Err(Error::Altered("its sender is not the pinned `provisioner_key`"));
        }
        let place = Place {
            answers: Some(sealed.hash()),
            ..place
        };
        let opened = answer
            .open(key, &place)
            .map_err(|_| Error::Altered("its envelope does not open"))?;
        // What serde says is not passed on: it may quote a secret.
        serde_json::from_slice(&opened).map_err(|_| Error::Altered("its content is not what this agent understands"))
    }

    /// Reports how far the journey is.
    pub(crate) async fn progress(&self, id: &InstanceId, key: &PrivateKey, progress: &Progress) -> Result<(), Error> {
        let message = serde_json::to_vec(progress).map_err(|_| Error::Request)?;
        let place = self.place(Call::Progress, id);
        let sealed = Sealed::seal(&message, key, &self.key, &place).map_err(|_| Error::Request)?;
        self.post(&progress_path(id), &sealed).await.map(|_| ())
    }

    fn place<'a>(&'a self, call: Call, instance: &'a InstanceId) -> Place<'a> {
        Place {
            call,
            audience: &self.key,
            instance,
            answers: None,
        }
    }

    async fn post(&self, path: &str, sealed: &Sealed) -> Result<(u16, Vec<u8>), Error> {
        let url = self.url.join(path).map_err(|_| Error::Request)?;
        let sent = self.http.post(url).json(sealed).send().await;
        let response = sent.map_err(|source| self.unreachable(source))?;
        let date = response.headers().get(DATE).and_then(|it| it.to_str().ok());
        if let Some(ahead) = date.and_then(|it| clock::ahead(it, Timestamp::now())) {
            self.skew.set(Some(ahead));
        }
        let status = response.status();
        let refusal = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|it| it.as_bytes().starts_with(problem::MEDIA_TYPE.as_bytes()));
        let retry_after = retry_after(&response);
        let body = self.bounded(response).await?;
        if status.is_success() {
            return Ok((status.as_u16(), body));
        }
        let parsed: Option<Problem> = refusal.then(|| serde_json::from_slice(&body).ok()).flatten();
        match parsed {
            Some(problem) if problem.kind().is_some() => Err(Error::Refused {
                reason: printable(problem.type_uri.rsplit(':').next().unwrap_or_default()),
                title: printable(&problem.title),
                problem,
                retry_after,
            }),
            _ => Err(Error::Foreign {
                host: self.host(),
                status: status.as_u16(),
                retry_after,
            }),
        }
    }

    async fn bounded(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|source| self.unreachable(source))? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(Error::Altered("it is longer than any that the provisioner makes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable(&self, source: reqwest::Error) -> Error {
        Error::Unreachable {
            host: self.host(),
            source: source.without_url(),
        }
    }
}

/// Seconds; the form with a date is nothing that the provisioner sends.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A refusal travels outside the envelope: anyone may have written it.
fn printable(text: &str) -> String {
    text.chars()
        .take(200)
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}
