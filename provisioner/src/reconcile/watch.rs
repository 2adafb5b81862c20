//! What is watched, and which Worker each change concerns.

use std::sync::Mutex;

use futures_util::TryStreamExt as _;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::{Controller, WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::{OnceCell, mpsc};

use super::apply::Failure;
use super::decide::{Documents, Orphan, Purpose, instance_of};
use crate::names::{INSTANCE_LABEL, JOIN_TYPE, KEY_TYPE};
use crate::worker::{Wish, Worker};

/// The cluster as the watches show it; always a little old.
pub(super) struct Stores {
    pub(super) workers: Store<Worker>,
    pub(super) keys: Store<Secret>,
    pub(super) joins: Store<Secret>,
    pub(super) nodes: Store<Node>,
    pub(super) requests: Store<CertificateSigningRequest>,
    /// The documents of the keys, read once each.
    pub(super) documents: Mutex<Documents>,
    pub(super) serving: Store<CertificateSigningRequest>,
    listed: OnceCell<()>,
}

impl Stores {
    /// Waits until everything was listed once: what has not been seen yet must not be taken for absent.
    pub(super) async fn ready(&self) -> Result<(), Failure> {
        // A store wakes only the last of those who wait for it, so one waits for all.
        self.listed.get_or_try_init(|| self.all_listed()).await.copied()
    }

    async fn all_listed(&self) -> Result<(), Failure> {
        let all = async {
            self.workers.wait_until_ready().await?;
            self.keys.wait_until_ready().await?;
            self.joins.wait_until_ready().await?;
            self.nodes.wait_until_ready().await?;
            self.requests.wait_until_ready().await?;
            self.serving.wait_until_ready().await
        };
        all.await.map_err(|_| Failure::WatchEnded)
    }
}

/// Has the controller woken by everything that concerns a Worker.
///
/// Also tells of the join Secrets that were deleted: that is how the cluster cleans up after a deleted Worker.
pub(super) fn attach(
    controller: Controller<Worker>,
    client: &Client,
    namespace: &str,
) -> (Stores, mpsc::UnboundedReceiver<Orphan>, Controller<Worker>) {
    let workers = controller.store();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let of_type = |kind: &str| watcher::Config::default().fields(&format!("type={kind}"));
    let asking = |purpose: Purpose| watcher::Config::default().fields(&format!("spec.signerName={}", purpose.signer()));

    let (keys, keys_writer) = store();
    let keys_stream = watcher(secrets.clone(), of_type(KEY_TYPE))
        .default_backoff()
        .reflect(keys_writer);
    let (joins, joins_writer) = store();
    let (deleted, orphaned) = mpsc::unbounded_channel();
    let joins_stream = watcher(secrets, of_type(JOIN_TYPE))
        .default_backoff()
        .reflect(joins_writer)
        .inspect_ok(move |event| {
            if let watcher::Event::Delete(join) = event {
                // Nobody listens any more only when the process ends.
                let _ = Orphan::of_join(join).map(|it| deleted.send(it));
            }
        });
    let (nodes, nodes_writer) = store();
    let nodes_stream = watcher(Api::<Node>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .modify(strip_node)
        .reflect(nodes_writer);
    let (requests, requests_writer) = store();
    let requests_stream = watcher(Api::all(client.clone()), asking(Purpose::Client))
        .default_backoff()
        .reflect(requests_writer);
    let (serving, serving_writer) = store();
    let serving_stream = watcher(Api::all(client.clone()), asking(Purpose::Serving))
        .default_backoff()
        .reflect(serving_writer);

    let controller = controller
        .watches_stream(
            keys_stream.touched_objects(),
            concerned_by_key(workers.clone(), namespace),
        )
        .watches_stream(joins_stream.touched_objects(), named(namespace))
        .watches_stream(nodes_stream.touched_objects(), named(namespace))
        .watches_stream(requests_stream.touched_objects(), concerned_by_request(namespace))
        .watches_stream(serving_stream.touched_objects(), concerned_by_request(namespace));
    let stores = Stores {
        workers,
        keys,
        joins,
        nodes,
        requests,
        documents: Mutex::default(),
        serving,
        listed: OnceCell::new(),
    };
    (stores, orphaned, controller)
}

/// Images are most of a Node, and of no interest here.
fn strip_node(node: &mut Node) {
    node.metadata.managed_fields = None;
    if let Some(status) = &mut node.status {
        status.images = None;
    }
}

/// A key concerns the instance on its label; one that is free, all that have none.
fn concerned_by_key(workers: Store<Worker>, namespace: &str) -> impl Fn(Secret) -> Vec<ObjectRef<Worker>> + use<> {
    let namespace = namespace.to_owned();
    move |key| match key.labels().get(INSTANCE_LABEL) {
        Some(instance) if !instance.is_empty() => vec![ObjectRef::new(instance).within(&namespace)],
        _ => workers
            .state()
            .iter()
            .filter(|it| it.spec.wished == Wish::Running)
            .filter(|it| it.status.as_ref().is_none_or(|it| it.key.is_none()))
            .map(|it| ObjectRef::from_obj(it.as_ref()))
            .collect(),
    }
}

/// A Node and a join Secret have the Worker's name.
fn named<K: kube::Resource>(namespace: &str) -> impl Fn(K) -> Option<ObjectRef<Worker>> + use<K> {
    let namespace = namespace.to_owned();
    move |object| {
        let name = object.meta().name.as_deref()?;
        name.starts_with("i-").then(|| ObjectRef::new(name).within(&namespace))
    }
}

fn concerned_by_request(namespace: &str) -> impl Fn(CertificateSigningRequest) -> Option<ObjectRef<Worker>> + use<> {
    let namespace = namespace.to_owned();
    move |request| Some(ObjectRef::new(instance_of(&request)?.as_str()).within(&namespace))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use futures_util::stream::FuturesUnordered;
    use kube::runtime::watcher::Event;
    use tokio::time::timeout;

    use super::*;

    /// With more Workers than are looked at at once, whoever is not woken holds a place for ever.
    #[tokio::test]
    async fn all_who_wait_for_the_lists_are_woken() {
        let (workers, mut worker_writer) = store();
        let (keys, mut key_writer) = store();
        let (joins, mut join_writer) = store();
        let (nodes, mut node_writer) = store();
        let (requests, mut request_writer) = store();
        let (serving, mut serving_writer) = store();
        let stores = Stores {
            workers,
            keys,
            joins,
            nodes,
            requests,
            documents: Mutex::default(),
            serving,
            listed: OnceCell::new(),
        };
        let mut waiting: FuturesUnordered<_> = (0..8).map(|_| stores.ready()).collect();
        let early = timeout(Duration::from_millis(10), waiting.next()).await;
        assert!(early.is_err(), "nothing is listed yet");
        worker_writer.apply_watcher_event(&Event::InitDone);
        key_writer.apply_watcher_event(&Event::InitDone);
        join_writer.apply_watcher_event(&Event::InitDone);
        node_writer.apply_watcher_event(&Event::InitDone);
        request_writer.apply_watcher_event(&Event::InitDone);
        serving_writer.apply_watcher_event(&Event::InitDone);
        for _ in 0..8 {
            let woken = timeout(Duration::from_secs(5), waiting.next()).await;
            assert!(matches!(woken, Ok(Some(Ok(())))), "{woken:?}");
        }
    }
}
