//! What a node must know of the cluster: it changes so seldom that it is asked once a minute.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Error, Store};

const FRESH: Duration = Duration::from_mins(1);

/// The cluster's CA and version, as they were a minute ago.
#[derive(Debug, Default)]
pub struct Cluster {
    ca: Kept,
    version: Kept,
}

/// A text, and when it was asked for.
#[derive(Debug, Default)]
struct Kept(Mutex<Option<(Instant, String)>>);

impl Cluster {
    pub(super) async fn ca(&self, store: &Store) -> Result<String, Error> {
        self.ca.fresh(store.cluster_ca()).await
    }

    pub(super) async fn version(&self, store: &Store) -> Result<String, Error> {
        self.version.fresh(store.version()).await
    }
}

impl Kept {
    /// The text, asked for anew if it is old. Nobody waits for another one's question.
    async fn fresh(&self, ask: impl Future<Output = Result<String, Error>>) -> Result<String, Error> {
        let kept = self.lock().clone();
        if let Some((asked, text)) = kept
            && asked.elapsed() < FRESH
        {
            return Ok(text);
        }
        let text = ask.await?;
        *self.lock() = Some((Instant::now(), text.clone()));
        Ok(text)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
