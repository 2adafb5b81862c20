//! The certificate that a message says it was signed with.
//!
//! Its issuer is not looked at, as in none of AWS's own validators: that it is AWS's is known because it came over TLS
//! from the one host that is computed from the operator's own topic.

mod check;
mod location;
mod memory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use reqwest::StatusCode;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

pub use self::check::read;
pub use self::location::url;
use self::memory::{Advice, Memory};
use super::Refusal;
use super::signature::SignerKey;
use super::topic::Topic;
use crate::fetch;

/// Certificates that are fetched at the same time.
const MAX_FETCHES: usize = 2;

const MAX_LENGTH: usize = 16 * 1024;

/// How long a fetch may wait for its turn; SNS itself waits 15 s for us.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The keys of certificates, fetched when a message first names them.
#[derive(Debug)]
pub struct Certificates {
    client: reqwest::Client,
    memory: Mutex<Memory>,
    fetches: Semaphore,
}

impl Certificates {
    pub(super) fn new(client: reqwest::Client) -> Self {
        Self {
            client,
            memory: Mutex::default(),
            fetches: Semaphore::new(MAX_FETCHES),
        }
    }

    pub(super) async fn key(&self, url: &Url, topic: &Topic, now: Timestamp) -> Result<Arc<SignerKey>, Refusal> {
        if let Some(key) = self.known(url, now)? {
            return Ok(key);
        }
        let turn = timeout(MAX_WAIT, self.fetches.acquire()).await;
        let _turn = turn
            .map_err(|_| Refusal::Unavailable(anyhow!("too many certificates are being fetched")))?
            .map_err(|error| Refusal::Unavailable(error.into()))?;
        // Whoever had the turn before may have asked for the same.
        if let Some(key) = self.known(url, now)? {
            return Ok(key);
        }
        // Counted before it is known, for whoever asks may hang up, and then this ends here.
        self.memory().begins();
        let fetched = self.fetch(url, topic, now).await;
        match &fetched {
            Ok(key) => self.memory().succeeded(url, Arc::clone(key)),
            Err(_) => self.memory().failed(url, now),
        }
        fetched
    }

    fn known(&self, url: &Url, now: Timestamp) -> Result<Option<Arc<SignerKey>>, Refusal> {
        let unavailable = |why| Err(Refusal::Unavailable(anyhow!("{why}")));
        match self.memory().advice(url, now) {
            Advice::Known(key) => Ok(Some(key)),
            Advice::Fetch => Ok(None),
            Advice::Failed => unavailable("its certificate could not be had a moment ago"),
            Advice::Wait => unavailable("too many certificates could not be had"),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self, url: &Url, topic: &Topic, now: Timestamp) -> Result<Arc<SignerKey>, Refusal> {
        let answer = fetch::bounded(self.client.get(url.clone()), MAX_LENGTH)
            .await
            .map_err(Refusal::Unavailable)?;
        if answer.status != StatusCode::OK {
            let text = anyhow!("`{url}` answers {}", answer.status);
            return Err(Refusal::Unavailable(text));
        }
        read(&answer.body, topic, now).map(Arc::new)
    }
}
