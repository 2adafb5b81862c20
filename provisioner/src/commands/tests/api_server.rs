//! Objects by their paths, with optimistic locking and rehearsals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::NAMESPACE;

#[derive(Clone, Default)]
pub(crate) struct ApiServer(Arc<Mutex<Inner>>);

#[derive(Default)]
pub(super) struct Inner {
    pub(super) objects: BTreeMap<String, Value>,
    version: u64,
    /// So many creations succeed, and then no more.
    pub(super) creations: Option<u32>,
    /// These objects are changed by somebody else just before the next change.
    pub(super) contested: BTreeSet<String>,
}

impl ApiServer {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(Router::new().fallback(answer).with_state(self.clone()), NAMESPACE)
    }

    /// Puts an object there, as somebody else would.
    pub(crate) fn put(&self, path: &str, object: Value) {
        self.lock().write(path, object);
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.lock().objects.get(path).cloned()
    }
}

impl Inner {
    fn write(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = format!("uid-{}", self.version).into();
        }
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn create(&mut self, collection: &str, query: &str, object: Value) -> Response {
        let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap());
        if self.objects.contains_key(&path) {
            return failure(StatusCode::CONFLICT, "AlreadyExists");
        }
        if query.contains("dryRun") {
            return Json(object).into_response();
        }
        match &mut self.creations {
            Some(0) => return failure(StatusCode::FORBIDDEN, "Forbidden"),
            Some(left) => *left -= 1,
            None => {}
        }
        Json(self.write(&path, object)).into_response()
    }

    fn read(&self, path: &str, query: &str) -> Response {
        if let Some(object) = self.objects.get(path) {
            return Json(object.clone()).into_response();
        }
        let prefix = format!("{path}/");
        let inside = |it: &&String| it.strip_prefix(&prefix).is_some_and(|it| !it.contains('/'));
        let wanted = |it: &Value| !query.contains("wireguard-key") || it["type"] == "dynk8s.du5t1n.me/wireguard-key";
        let items: Vec<&Value> = self
            .objects
            .iter()
            .filter(|(path, object)| inside(path) && wanted(object))
            .map(|(_, object)| object)
            .collect();
        let is_collection = path
            .rsplit('/')
            .next()
            .is_some_and(|it| it.ends_with('s') && !it.contains('-'));
        if items.is_empty() && !is_collection {
            return failure(StatusCode::NOT_FOUND, "NotFound");
        }
        Json(json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items })).into_response()
    }

    fn change(&mut self, path: &str, method: &Method, body: &Value) -> Response {
        if self.contested.remove(path) {
            let object = self.objects[path].clone();
            self.write(path, object);
        }
        let Some(object) = self.objects.get(path).cloned() else {
            return failure(StatusCode::NOT_FOUND, "NotFound");
        };
        let guard = if method == Method::DELETE {
            &body["preconditions"]
        } else {
            &body["metadata"]
        };
        for field in ["resourceVersion", "uid"] {
            if !guard[field].is_null() && guard[field] != object["metadata"][field] {
                return failure(StatusCode::CONFLICT, "Conflict");
            }
        }
        if method == Method::DELETE {
            self.objects.remove(path);
            return Json(object).into_response();
        }
        let mut changed = object;
        merge(&mut changed, body);
        Json(self.write(path, changed)).into_response()
    }
}

async fn answer(State(server): State<ApiServer>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    let mut inner = server.lock();
    match parts.method {
        Method::GET => inner.read(path, query),
        Method::POST => inner.create(path, query, body),
        method => inner.change(path, &method, &body),
    }
}

fn merge(target: &mut Value, change: &Value) {
    let (Some(object), Value::Object(change)) = (target.as_object_mut(), change) else {
        *target = change.clone();
        return;
    };
    for (name, value) in change {
        merge(object.entry(name).or_insert(json!({})), value);
    }
}

fn failure(code: StatusCode, reason: &str) -> Response {
    let status = json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": reason,
        "reason": reason, "code": code.as_u16() });
    (code, Json(status)).into_response()
}
