//! The cluster as an operator reaches it, with his own rights.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;

use super::failure::Failure;
use super::keys::decide::inventory::{Entry, inventory};
use crate::api_server::{Fault, operators};
use crate::cli::Access;
use crate::names::KEY_TYPE;
use crate::worker::Worker;

/// How long the API server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) secrets: Api<Secret>,
    pub(super) workers: Api<Worker>,
    pub(super) nodes: Api<Node>,
}

impl Cluster {
    /// Finds the API server, as kubectl does; asks it nothing yet.
    pub(super) async fn find(access: &Access) -> Result<Self, Failure> {
        let client = operators(access.context.clone()).await.map_err(Failure::Usage)?;
        Ok(Self::new(client, &access.namespace.namespace))
    }

    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            workers: Api::namespaced(client.clone(), namespace),
            nodes: Api::all(client.clone()),
            namespace: namespace.to_owned(),
            client,
        }
    }

    /// The keys as they stand.
    pub(super) async fn pool(&self) -> anyhow::Result<Vec<Entry>> {
        let of_type = ListParams::default().fields(&format!("type={KEY_TYPE}"));
        let secrets = ask("list the keys", self.secrets.list(&of_type)).await?.items;
        let nodes = ask("list the Nodes", self.nodes.list(&ListParams::default()))
            .await?
            .items;
        Ok(inventory(&secrets, &self.workers().await?, &nodes))
    }

    /// All Workers; none where nobody knows what a Worker is yet.
    async fn workers(&self) -> anyhow::Result<Vec<Worker>> {
        Ok(self.known_workers().await?.unwrap_or_default())
    }

    /// All Workers, if the cluster knows what a Worker is.
    pub(super) async fn known_workers(&self) -> anyhow::Result<Option<Vec<Worker>>> {
        let list = async {
            match self.workers.list(&ListParams::default()).await {
                Ok(list) => Ok(Some(list.items)),
                Err(error) if is_unknown(&error) => Ok(None),
                Err(error) => Err(error),
            }
        };
        ask("list the Workers", list).await
    }
}

/// Whether there is no such object, or nothing of its kind: of a kind that is not defined the API server says so in plain text, in
/// which no reason can be found.
pub(super) fn is_unknown(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// One call to the API server, which must answer in time.
pub(super) async fn ask<T>(what: impl Display, call: impl Future<Output = kube::Result<T>>) -> anyhow::Result<T> {
    match timeout(PATIENCE, call).await {
        Ok(answer) => answer.map_err(Fault).with_context(|| format!("failed to {what}")),
        Err(_) => {
            Err(anyhow!("the API server did not answer within {PATIENCE:?}").context(format!("failed to {what}")))
        }
    }
}
