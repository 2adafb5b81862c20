//! As much of a client of the API server as a join needs.

use anyhow::{Context, bail};
use axum::http::{Method, StatusCode, header};
use reqwest::{Certificate, ClientBuilder, Identity};
use serde_json::Value;

use super::discovery::Cluster;

#[derive(Debug)]
pub(super) struct Client {
    server: String,
    token: Option<String>,
    http: reqwest::Client,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    body: Value,
}

impl Client {
    pub(super) fn with_token(cluster: &Cluster, token: &str) -> anyhow::Result<Self> {
        Self::new(cluster, Some(token.to_owned()), |builder| builder)
    }

    /// `pem` holds certificate and key.
    pub(super) fn with_certificate(cluster: &Cluster, pem: &str) -> anyhow::Result<Self> {
        let identity = Identity::from_pem(pem.as_bytes()).context("failed to use the kubelet's certificate")?;
        Self::new(cluster, None, |builder| builder.identity(identity))
    }

    fn new(
        cluster: &Cluster,
        token: Option<String>,
        identify: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> anyhow::Result<Self> {
        // The process may have chosen a provider already, and then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = Certificate::from_pem(cluster.authority.as_bytes()).context("failed to read the authority")?;
        let builder = reqwest::Client::builder().tls_certs_only([root]).no_proxy();
        Ok(Self {
            server: cluster.server.clone(),
            token,
            http: identify(builder).build()?,
        })
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.ask(Method::GET, path, "application/json", None).await
    }

    pub(super) async fn create(&self, path: &str, object: &Value) -> anyhow::Result<Answer> {
        self.ask(Method::POST, path, "application/json", Some(object)).await
    }

    pub(super) async fn patch(&self, path: &str, change: &Value) -> anyhow::Result<Answer> {
        let kind = "application/strategic-merge-patch+json";
        self.ask(Method::PATCH, path, kind, Some(change)).await
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
        let url = format!("{}{path}", self.server);
        let mut request = self.http.request(method, &url).header(header::CONTENT_TYPE, kind);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let answer = request
            .send()
            .await
            .with_context(|| format!("failed to reach `{url}`"))?;
        let status = answer.status();
        let body = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        Ok(Answer { status, body })
    }
}

impl Answer {
    /// The object, if the server gave one.
    pub(super) fn object(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        bail!(
            "{}: {}",
            self.status,
            self.body["message"].as_str().unwrap_or("no message")
        )
    }
}
