//! What `serve` reads and writes in the API server: objects of its own namespace, and nothing else.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use dynk8s_api::InstanceId;
use dynk8s_api::Secret as SecretText;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api_server::Fault;
use crate::worker::{Wish, Worker, WorkerSpec};

/// How long the API server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

const FIELD_MANAGER: &str = "dynk8s-serve";

/// Every namespace has this `ConfigMap`: the controller-manager publishes the cluster's CA in it.
const CA_CONFIG_MAP: &str = "kube-root-ca.crt";

/// Why the API server did not do it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody was faster: read again.
    #[error("somebody else wrote at the same time")]
    Conflict,
    /// The object that was to be changed is not there.
    #[error("the object is not there")]
    NotFound,
    /// It did not answer in time.
    #[error("the API server did not answer within {PATIENCE:?}")]
    Timeout,
    /// It cannot be reached, or refuses.
    #[error("failed to ask the API server")]
    Kubernetes(#[source] Fault),
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() => Self::NotFound,
            kube::Error::Api(status) if status.code == 409 => Self::Conflict,
            error => Self::Kubernetes(Fault(error)),
        }
    }
}

/// The objects of our namespace.
#[derive(Clone)]
pub struct Store {
    client: Client,
    workers: Api<Worker>,
    secrets: Api<Secret>,
    config_maps: Api<ConfigMap>,
}

impl Store {
    /// The store in this namespace.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            workers: Api::namespaced(client.clone(), namespace),
            secrets: Api::namespaced(client.clone(), namespace),
            config_maps: Api::namespaced(client.clone(), namespace),
            client,
        }
    }

    /// The Worker of an instance.
    pub async fn worker(&self, id: &InstanceId) -> Result<Option<Worker>, Error> {
        bounded(self.workers.get_opt(id.as_str())).await
    }

    /// Makes the Worker of an instance; its name is the lock, so [`Error::Conflict`] says that it is there.
    pub async fn create_worker(&self, id: &InstanceId, wished: Wish) -> Result<Worker, Error> {
        let instance_id = id.to_string();
        let spec = WorkerSpec {
            instance_id,
            wished,
            forced: false,
        };
        let worker = Worker::new(id.as_str(), spec);
        bounded(self.workers.create(&parameters_of_creation(), &worker)).await
    }

    /// Wishes an instance gone. There is no way back, so this needs no guard.
    pub async fn bury(&self, id: &InstanceId) -> Result<(), Error> {
        let patch = Patch::Merge(json!({ "spec": { "wished": Wish::Gone } }));
        bounded(self.workers.patch(id.as_str(), &parameters(), &patch))
            .await
            .map(drop)
    }

    /// Changes fields of the status of the very Worker that was read: [`Error::Conflict`] if it was changed since.
    pub async fn record(&self, worker: &Worker, status: Value) -> Result<Worker, Error> {
        let metadata = json!({ "resourceVersion": worker.metadata.resource_version, "uid": worker.metadata.uid });
        let patch = Patch::Merge(json!({ "metadata": metadata, "status": status }));
        bounded(self.workers.patch_status(&worker.name_any(), &parameters(), &patch)).await
    }

    /// Changes fields of the status of the Worker, whatever it was.
    pub async fn report(&self, id: &InstanceId, status: Value) -> Result<(), Error> {
        let patch = Patch::Merge(json!({ "status": status }));
        bounded(self.workers.patch_status(id.as_str(), &parameters(), &patch))
            .await
            .map(drop)
    }

    /// A Secret.
    pub async fn secret(&self, name: &str) -> Result<Option<Secret>, Error> {
        bounded(self.secrets.get_opt(name)).await
    }

    /// Makes a Secret with one field.
    pub async fn create_secret(&self, name: &str, field: &str, value: &SecretText) -> Result<(), Error> {
        let value = ByteString(value.expose().as_bytes().to_vec());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some([(field.to_owned(), value)].into()),
            ..Secret::default()
        };
        bounded(self.secrets.create(&parameters_of_creation(), &secret))
            .await
            .map(drop)
    }

    /// The cluster's CA certificates, PEM.
    pub async fn cluster_ca(&self) -> Result<String, Error> {
        let mut map = bounded(self.config_maps.get(CA_CONFIG_MAP)).await?;
        let ca = map.data.as_mut().and_then(|it| it.remove("ca.crt"));
        ca.ok_or(Error::NotFound)
    }

    /// The API server's version, `v1.37.2`.
    pub async fn version(&self) -> Result<String, Error> {
        bounded(self.client.apiserver_version()).await.map(|it| it.git_version)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// A field of a Secret, as text.
pub fn text(secret: &Secret, field: &str) -> Option<SecretText> {
    let bytes = &secret.data.as_ref()?.get(field)?.0;
    String::from_utf8(bytes.clone()).ok().map(SecretText::new)
}

async fn bounded<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    match timeout(PATIENCE, call).await {
        Ok(answer) => answer.map_err(Error::from),
        Err(_) => Err(Error::Timeout),
    }
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

fn parameters_of_creation() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}
