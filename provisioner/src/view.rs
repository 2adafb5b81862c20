//! All Workers, as the API server tells of them: one watch for the whole process, so that a claim that waits costs no
//! request of its own.

use std::sync::Arc;
use std::time::Duration;

use dynk8s_api::InstanceId;
use futures_util::StreamExt as _;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tracing::warn;

use crate::api_server::fault::told;
use crate::worker::Worker;

/// The Workers, and a signal at every change.
#[derive(Clone, Debug)]
pub struct View {
    namespace: String,
    workers: reflector::Store<Worker>,
    changes: watch::Receiver<u64>,
    synced: watch::Receiver<bool>,
}

impl View {
    /// The view of a namespace, and the work that keeps it true: it must be run as long as the view is used.
    pub fn new(client: Client, namespace: &str) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (workers, mut writer) = reflector::store();
        let (change, changes) = watch::channel(0_u64);
        let (sync, synced) = watch::channel(false);
        let events = watcher(Api::<Worker>::namespaced(client, namespace), watcher::Config::default());
        let work = async move {
            let mut events = events.default_backoff().boxed();
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        writer.apply_watcher_event(&event);
                        if matches!(event, watcher::Event::InitDone) {
                            sync.send_replace(true);
                        }
                        change.send_modify(|it| *it += 1);
                    }
                    Err(error) => {
                        warn!(error = told(&error), "failed to watch Workers");
                    }
                }
            }
        };
        let view = Self {
            namespace: namespace.to_owned(),
            workers,
            changes,
            synced,
        };
        (view, work)
    }

    /// Waits until the API server has told of all Workers once.
    pub async fn synced(&self) {
        // An error says that nobody keeps the view true any longer.
        let _ = self.synced.clone().wait_for(|it| *it).await;
    }

    /// Waits until `find` finds what it looks for in the Worker, at most so long.
    pub async fn wait<T>(
        &self,
        id: &InstanceId,
        patience: Duration,
        mut find: impl FnMut(Option<&Worker>) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changes.clone();
        let found = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = find(self.worker(id).as_deref()) {
                    return Some(found);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(patience, found).await.ok().flatten()
    }

    /// The Worker of an instance, as it was a moment ago.
    pub fn worker(&self, id: &InstanceId) -> Option<Arc<Worker>> {
        self.workers.get(&ObjectRef::new(id.as_str()).within(&self.namespace))
    }
}
