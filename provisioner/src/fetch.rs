//! Requests to AWS: HTTPS only, never redirected, never through a proxy that the environment names, bounded in time and
//! size.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{Client, RequestBuilder, StatusCode, redirect};

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

/// A client that waits so long for a whole answer.
pub fn client(patience: Duration) -> anyhow::Result<Client> {
    Client::builder()
        .https_only(true)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(patience)
        .connect_timeout(patience)
        .user_agent(concat!("dynk8s-provisioner/", env!("CARGO_PKG_VERSION")))
        .build()
        .context("failed to set up TLS")
}

/// Sends a request and reads the answer, which is an error if it is longer than `limit`.
pub async fn bounded(request: RequestBuilder, limit: usize) -> anyhow::Result<Answer> {
    // The URL may hold a token.
    let mut response = request.send().await.map_err(reqwest::Error::without_url)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len() + chunk.len() > limit {
            bail!("the answer is longer than {limit} bytes");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, body })
}
