//! The API server as an account asks it, each verb by itself: `kubectl` would read before it writes.

use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::cluster::API_ADDRESS;
use dynk8s_lab::host::containment::SCRATCH;
use reqwest::{Certificate, Method, StatusCode};
use serde_json::Value;

#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    token: String,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Client {
    /// With the kubeconfig that an account logs in with.
    pub(super) fn log_in(half: &str) -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let file: Value = serde_json::from_slice(&std::fs::read(Path::new(SCRATCH).join(half))?)?;
        let authority = file["clusters"][0]["cluster"]["certificate-authority-data"].as_str();
        let authority = BASE64_STANDARD.decode(authority.context("no authority")?)?;
        let builder = reqwest::Client::builder().tls_certs_only([Certificate::from_pem(&authority)?]);
        let token = file["users"][0]["user"]["token"].as_str().context("no token")?;
        Ok(Self {
            http: builder.no_proxy().build()?,
            token: token.to_owned(),
        })
    }

    pub(super) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> anyhow::Result<Answer> {
        let kind = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let changes = method != Method::GET;
        let what = format!("{method} {path}");
        let mut request = self.http.request(method, format!("https://{API_ADDRESS}:6443{path}"));
        request = request.bearer_auth(&self.token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if changes {
            request = request.header("content-type", kind).body("{}");
        }
        let answer = request.send().await.with_context(|| format!("failed to {what}"))?;
        let status = answer.status();
        let body = answer.bytes().await.with_context(|| format!("failed to {what}"))?;
        // What is watched comes as several documents, and nothing of it is looked at.
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Answer { status, body })
    }
}

impl Answer {
    /// Whether the right to do so is missing; a policy would say something else.
    pub(super) fn is_denied(&self, verb: &str, resource: &str) -> bool {
        let said = self.body["message"].as_str().unwrap_or_default();
        self.status == StatusCode::FORBIDDEN && said.contains(&format!("cannot {verb} resource \"{resource}\""))
    }
}
