//! What happened at an emulator, in order, for assertions.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;
use tokio::time::timeout;

/// A shared, growing list of events.
#[derive(Debug, Clone)]
pub struct Journal<T> {
    entries: Arc<Mutex<Vec<T>>>,
    count: watch::Sender<usize>,
}

impl<T> Default for Journal<T> {
    fn default() -> Self {
        Self {
            entries: Arc::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl<T: Clone + Debug> Journal<T> {
    pub fn push(&self, entry: T) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(entry);
        self.count.send_replace(entries.len());
    }

    pub fn entries(&self) -> Vec<T> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for an entry that `wanted` accepts, past ones included.
    pub async fn wait_for(&self, patience: Duration, wanted: impl Fn(&T) -> bool) -> anyhow::Result<T> {
        let mut count = self.count.subscribe();
        let search = async {
            loop {
                if let Some(found) = self.entries().into_iter().find(&wanted) {
                    return found;
                }
                // The sender lives in `self`, so a change or the deadline is all that can come.
                let _ = count.changed().await;
            }
        };
        match timeout(patience, search).await {
            Ok(found) => Ok(found),
            Err(_) => bail!(
                "failed to see the expected event within {patience:?}; seen: {:?}",
                self.entries()
            ),
        }
    }
}
