//! The API server's objects as the test reads and writes them: as administrator, or in the name of a node.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use tokio::time::sleep;

/// Where `kubectl proxy` listens.
const PROXY: &str = "http://127.0.0.1:8001";
const READY_WITHIN: Duration = Duration::from_secs(20);

pub(crate) const WORKERS: &str = "/apis/dynk8s.du5t1n.me/v1alpha1/namespaces/dynk8s-system/workers";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/dynk8s-system/secrets";
pub(crate) const TOKENS: &str = "/api/v1/namespaces/kube-system/secrets";
pub(crate) const NODES: &str = "/api/v1/nodes";

pub(crate) struct Api {
    client: Client,
}

impl Api {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().tls_certs_only([]).no_proxy().build()?;
        Ok(Self { client })
    }

    /// The proxy has just been started.
    pub(crate) async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let end = Instant::now() + READY_WITHIN;
        while let Err(error) = self.list(NODES).await {
            if Instant::now() > end {
                return Err(error.context(format!("`kubectl proxy` is not ready after {READY_WITHIN:?}")));
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// An object, if it is there.
    pub(crate) async fn get(&self, folder: &str, name: &str) -> anyhow::Result<Option<Value>> {
        self.call(Method::GET, &format!("{folder}/{name}"), None, None).await
    }

    pub(crate) async fn list(&self, folder: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.call(Method::GET, folder, None, None).await?;
        let list = list.with_context(|| format!("no list of `{folder}`"))?;
        Ok(list["items"].as_array().context("no items")?.clone())
    }

    /// Makes an object; nothing happens if there is one.
    pub(crate) async fn create(&self, folder: &str, object: &Value, node: Option<&str>) -> anyhow::Result<()> {
        self.call(Method::POST, folder, Some(object), node).await?;
        Ok(())
    }

    /// Changes an object; whether it is there.
    pub(crate) async fn merge(&self, path: &str, change: &Value, node: Option<&str>) -> anyhow::Result<bool> {
        let changed = self.call(Method::PATCH, path, Some(change), node).await?;
        Ok(changed.is_some())
    }

    pub(crate) async fn delete(&self, folder: &str, name: &str) -> anyhow::Result<()> {
        self.call(Method::DELETE, &format!("{folder}/{name}"), None, None)
            .await?;
        Ok(())
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        node: Option<&str>,
    ) -> anyhow::Result<Option<Value>> {
        let merges = method == Method::PATCH;
        let what = format!("{method} {path}");
        let mut request = self.client.request(method, format!("{PROXY}{path}"));
        if let Some(body) = body {
            let kind = if merges {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            request = request.header("content-type", kind).body(body.to_string());
        }
        if let Some(node) = node {
            request = request
                .header("impersonate-user", format!("system:node:{node}"))
                .header("impersonate-group", "system:nodes")
                .header("impersonate-group", "system:authenticated");
        }
        let answer = request.send().await.with_context(|| format!("failed to {what}"))?;
        let status = answer.status();
        let text = answer.text().await.with_context(|| format!("failed to {what}"))?;
        match status {
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(None),
            _ if status.is_success() => Ok(Some(serde_json::from_str(&text)?)),
            _ => bail!("failed to {what} ({status}): {text}"),
        }
    }
}
