//! An API server in memory: Workers with optimistic locking and a watch, Secrets, and a `reconcile` that is done at once.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use kube::client::ClientBuilder;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::api_server::counted;
use crate::metrics::Metrics;

const NAMESPACE: &str = "dynk8s-system";
pub(super) const WIREGUARD: &str = "[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = 10.98.0.2/32\n\
     DNS = 192.168.10.1\n\n[Peer]\nPublicKey = AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nAllowedIPs = 10.98.0.0/24\n\
     Endpoint = vpn.onprem.example:51820\n";

#[derive(Clone, Default)]
pub(super) struct FakeCluster {
    inner: Arc<Mutex<Inner>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
pub(super) struct Inner {
    version: u64,
    pub(super) workers: BTreeMap<String, Value>,
    secrets: BTreeMap<String, Value>,
    events: Vec<(u64, Value)>,
    /// Whether a claim gets a key.
    pub(super) has_keys: bool,
    /// So many of the next changes of a status fail, because somebody else was faster.
    pub(super) conflicts: u32,
    /// How often a Worker was read.
    pub(super) reads: u32,
    /// Whether everything is answered 503.
    pub(super) down: bool,
}

impl FakeCluster {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(super) fn client(&self, metrics: &Metrics) -> kube::Client {
        let base = format!("/apis/dynk8s.du5t1n.me/v1alpha1/namespaces/{NAMESPACE}/workers");
        let core = format!("/api/v1/namespaces/{NAMESPACE}");
        let router = Router::new()
            .route(&base, get(list).post(create_worker))
            .route(&format!("{base}/{{name}}"), get(read_worker).patch(patch_worker))
            .route(&format!("{base}/{{name}}/status"), patch(patch_worker))
            .route(&format!("{core}/secrets/{{name}}"), get(read_secret))
            .route(&format!("{core}/configmaps/{{name}}"), get(read_ca))
            .route("/version", get(version))
            .with_state(self.clone());
        counted(ClientBuilder::new(router, NAMESPACE), metrics).build()
    }

    pub(super) fn status(&self, id: &str) -> Value {
        self.lock()
            .workers
            .get(id)
            .map_or(Value::Null, |it| it["status"].clone())
    }

    /// Merges into a Worker as somebody else would.
    pub(super) fn merge(&self, id: &str, change: &Value) {
        self.lock().merge(id, change);
        self.changed.notify_waiters();
    }
}

impl Inner {
    fn write(&mut self, kind: &str, mut worker: Value) -> Value {
        self.version += 1;
        worker["metadata"]["resourceVersion"] = self.version.to_string().into();
        let name = worker["metadata"]["name"].as_str().unwrap().to_owned();
        self.workers.insert(name, worker.clone());
        self.events
            .push((self.version, json!({ "type": kind, "object": worker })));
        worker
    }

    fn merge(&mut self, id: &str, change: &Value) -> Value {
        let mut worker = self.workers[id].clone();
        merge(&mut worker, change);
        self.write("MODIFIED", worker)
    }

    /// What `reconcile` does about a claim.
    fn reconcile(&mut self, id: &str) {
        let status = self.workers[id]["status"].clone();
        if status["claim"].is_null() || !status["contested"].is_null() {
            return;
        }
        let reset = status["claim"]["reset"].as_u64().unwrap_or(0);
        let given = status["token"]["generation"].as_u64();
        if !self.has_keys || given == Some(reset + 1) {
            if !self.has_keys {
                let condition = json!({ "type": "KeyAssigned", "status": "False", "reason": "PoolEmpty",
                    "message": "none of 0 keys is free", "lastTransitionTime": "2026-12-01T00:00:00Z" });
                self.merge(id, &json!({ "status": { "conditions": [condition] } }));
            }
            return;
        }
        let token = json!({ "id": "abcdef", "generation": reset + 1, "expires": "2099-01-01T00:00:00Z" });
        let fields = [
            ("token-id", "abcdef".to_owned()),
            ("token-secret", "0123456789abcdef".to_owned()),
            ("generation", (reset + 1).to_string()),
        ];
        self.put_secret(id, "dynk8s.du5t1n.me/join", None, &fields);
        self.put_key(id, WIREGUARD);
        self.merge(
            id,
            &json!({ "status": { "generation": reset + 1, "key": "wireguard-2", "token": token } }),
        );
    }

    pub(super) fn put_key(&mut self, holder: &str, document: &str) {
        let fields = [("wireguard-config", document.to_owned())];
        self.put_secret("wireguard-2", "dynk8s.du5t1n.me/wireguard-key", Some(holder), &fields);
    }

    fn put_secret(&mut self, name: &str, kind: &str, holder: Option<&str>, fields: &[(&str, String)]) {
        let data: BTreeMap<_, _> = fields
            .iter()
            .map(|(name, value)| (name, STANDARD.encode(value)))
            .collect();
        let labels = json!({ "dynk8s.du5t1n.me/ec2-instance-id": holder });
        let labels = if holder.is_some() { labels } else { json!({}) };
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "type": kind, "data": data,
            "metadata": { "name": name, "labels": labels } });
        self.secrets.insert(name.to_owned(), secret);
    }
}

fn merge(target: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *target = change.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in change {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name.as_str()], value);
        }
    }
}

fn failure(code: StatusCode, reason: &str) -> Response {
    let status = json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": reason,
        "reason": reason, "code": code.as_u16() });
    (code, Json(status)).into_response()
}

fn found(object: Option<&Value>) -> Response {
    object.map_or_else(
        || failure(StatusCode::NOT_FOUND, "NotFound"),
        |it| Json(it.clone()).into_response(),
    )
}

async fn list(State(cluster): State<FakeCluster>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    if query.contains("watch=true") {
        return watch(cluster, &query);
    }
    let inner = cluster.lock();
    let items: Vec<_> = inner.workers.values().cloned().collect();
    Json(
        json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "WorkerList", "items": items,
        "metadata": { "resourceVersion": inner.version.to_string() } }),
    )
    .into_response()
}

fn watch(cluster: FakeCluster, query: &str) -> Response {
    let since = query.split('&').find_map(|it| it.strip_prefix("resourceVersion="));
    let since: u64 = since.and_then(|it| it.parse().ok()).unwrap_or(0);
    let events = stream::unfold((cluster, since), async |(cluster, since)| {
        loop {
            let notify = Arc::clone(&cluster.changed);
            let changed = notify.notified();
            let next = cluster
                .lock()
                .events
                .iter()
                .find(|(version, _)| *version > since)
                .cloned();
            if let Some((version, event)) = next {
                return Some((
                    Ok::<_, Infallible>(Bytes::from(format!("{event}\n"))),
                    (cluster, version),
                ));
            }
            changed.await;
        }
    });
    Body::from_stream(events).into_response()
}

async fn read_worker(State(cluster): State<FakeCluster>, Path(name): Path<String>) -> Response {
    let mut inner = cluster.lock();
    inner.reads += 1;
    if inner.down {
        return failure(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable");
    }
    found(inner.workers.get(&name))
}

async fn create_worker(State(cluster): State<FakeCluster>, body: Bytes) -> Response {
    let mut worker: Value = serde_json::from_slice(&body).unwrap();
    let mut inner = cluster.lock();
    if inner.workers.contains_key(worker["metadata"]["name"].as_str().unwrap()) {
        return failure(StatusCode::CONFLICT, "AlreadyExists");
    }
    worker["metadata"]["uid"] = "0123".into();
    let worker = inner.write("ADDED", worker);
    drop(inner);
    cluster.changed.notify_waiters();
    Json(worker).into_response()
}

async fn patch_worker(State(cluster): State<FakeCluster>, Path(name): Path<String>, request: Request) -> Response {
    let guards_status = request.uri().path().ends_with("/status");
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let change: Value = serde_json::from_slice(&body).unwrap();
    let mut inner = cluster.lock();
    let Some(worker) = inner.workers.get(&name) else {
        return failure(StatusCode::NOT_FOUND, "NotFound");
    };
    let expected = &change["metadata"]["resourceVersion"];
    if guards_status && inner.conflicts > 0 {
        inner.conflicts -= 1;
        return failure(StatusCode::CONFLICT, "Conflict");
    }
    if !expected.is_null() && *expected != worker["metadata"]["resourceVersion"] {
        return failure(StatusCode::CONFLICT, "Conflict");
    }
    let worker = inner.merge(&name, &change);
    inner.reconcile(&name);
    drop(inner);
    cluster.changed.notify_waiters();
    Json(worker).into_response()
}

async fn read_secret(State(cluster): State<FakeCluster>, Path(name): Path<String>) -> Response {
    found(cluster.lock().secrets.get(&name))
}

async fn read_ca(Path(name): Path<String>) -> Response {
    assert_eq!(name, "kube-root-ca.crt");
    Json(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "ca.crt": "PEM" } }))
        .into_response()
}

async fn version() -> Response {
    Json(
        json!({ "major": "1", "minor": "37", "gitVersion": "v1.37.2", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": "" }),
    )
    .into_response()
}
