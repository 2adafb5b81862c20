//! What a node must know of the cluster: it changes so seldom that it is asked once a minute.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::store::{Error, Store};

const FRESH: Duration = Duration::from_mins(1);

/// The cluster's CA and version, as they were a minute ago at most.
#[derive(Debug, Default)]
pub struct Cluster {
    ca: Mutex<Option<(Instant, String)>>,
    version: Mutex<Option<(Instant, String)>>,
}

impl Cluster {
    pub(super) async fn ca(&self, store: &Store) -> Result<String, Error> {
        fresh(&self.ca, store.cluster_ca()).await
    }

    pub(super) async fn version(&self, store: &Store) -> Result<String, Error> {
        fresh(&self.version, store.version()).await
    }
}

async fn fresh(
    kept: &Mutex<Option<(Instant, String)>>,
    ask: impl Future<Output = Result<String, Error>>,
) -> Result<String, Error> {
    let mut kept = kept.lock().await;
    if let Some((asked, value)) = kept.as_ref()
        && asked.elapsed() < FRESH
    {
        return Ok(value.clone());
    }
    let value = ask.await?;
    *kept = Some((Instant::now(), value.clone()));
    Ok(value)
}
