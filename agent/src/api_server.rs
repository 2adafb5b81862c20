//! The API server, spoken to with the kubelet's own credentials: what the node may, this may, and nothing else.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use dynk8s_api::InstanceId;
use dynk8s_api::claim::Cluster;
use hickory_resolver::config::ResolveHosts;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Client, Identity, Method, StatusCode};
use serde_json::Value;

use crate::uplink::lookup;

/// The kubelet's certificate and key; it is renewed, so it is read anew each time.
const CREDENTIALS: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// The pods of a node that is full are a tenth of it.
const LONGEST: usize = 16 << 20;

/// The API server of the cluster that this node belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiServer<'a> {
    pub(crate) cluster: &'a Cluster,
    /// The on-premises resolvers, for its name.
    pub(crate) resolvers: &'a [IpAddr],
}

/// What it answered: any status, and the object if it is one.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl ApiServer<'_> {
    /// This machine's Node; `None` if there is no such Node.
    pub(crate) async fn node(&self, id: &InstanceId) -> anyhow::Result<Option<Value>> {
        let failed = || format!("failed to read the Node `{id}`");
        let answer = self.ask(Method::GET, &node_path(id), None).await.with_context(failed)?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        answer.object().map(Some).with_context(failed)
    }

    /// Keeps new pods away from this machine's Node.
    pub(crate) async fn cordon(&self, id: &InstanceId) -> anyhow::Result<()> {
        let change = serde_json::json!({ "spec": { "unschedulable": true } });
        let answer = self.ask(Method::PATCH, &node_path(id), Some(&change)).await;
        let cordoned = answer.and_then(Answer::object).map(|_| ());
        cordoned.with_context(|| format!("failed to cordon the Node `{id}`"))
    }

    /// The pods on this machine's Node.
    pub(crate) async fn pods(&self, id: &InstanceId) -> anyhow::Result<Value> {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{id}");
        let answer = self.ask(Method::GET, &path, None).await;
        answer
            .and_then(Answer::object)
            .with_context(|| format!("failed to list the pods of the Node `{id}`"))
    }

    /// One call. A body that is sent with `PATCH` is a merge patch.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
        let url = format!("{}{path}", self.cluster.server.trim_end_matches('/'));
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let mut request = self.client()?.request(method, url);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, kind).body(body.to_string());
        }
        let mut response = request.send().await.map_err(reqwest::Error::without_url)?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if text.len() + chunk.len() > LONGEST {
                bail!("the answer is longer than {LONGEST} bytes");
            }
            text.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status: response.status(),
            body: serde_json::from_slice(&text).unwrap_or_default(),
        })
    }

    fn client(&self) -> anyhow::Result<Client> {
        let failed = || format!("failed to use the kubelet's credentials `{CREDENTIALS}`");
        let pem = std::fs::read(CREDENTIALS).with_context(failed)?;
        let identity = Identity::from_pem(&pem).with_context(failed)?;
        let roots =
            Certificate::from_pem_bundle(self.cluster.ca.as_bytes()).context("failed to read the cluster's CA")?;
        let resolver = OnPremises {
            servers: self.resolvers.to_vec(),
        };
        Client::builder()
            .no_proxy()
            .tls_certs_only(roots)
            .identity(identity)
            .dns_resolver(Arc::new(resolver))
            .timeout(Duration::from_secs(10))
            .build()
            .with_context(failed)
    }
}

impl Answer {
    /// The object, if the server gave one.
    pub(crate) fn object(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let message: String = self.body["message"]
            .as_str()
            .unwrap_or_default()
            .chars()
            .take(300)
            .collect();
        bail!("the API server answered {}: {}", self.status, message.escape_debug())
    }
}

fn node_path(id: &InstanceId) -> String {
    format!("/api/v1/nodes/{id}")
}

/// The tunnel's resolvers, for the API server's name.
#[derive(Clone, Debug)]
struct OnPremises {
    servers: Vec<IpAddr>,
}

impl Resolve for OnPremises {
    fn resolve(&self, name: Name) -> Resolving {
        let servers = self.servers.clone();
        Box::pin(async move {
            let found = lookup(&servers, name.as_str(), ResolveHosts::Never).await;
            let addresses = found.map_err(|error| format!("{error:#}"))?;
            Ok(Box::new(addresses.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}
