//! Connections that are tried, to see whether somebody answers there and with which certificate.

use std::error::Error as _;
use std::time::Duration;

use anyhow::Context as _;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Client, RequestBuilder, redirect};
use url::Url;

use super::facts::{Probe, Public};

const PATIENCE: Duration = Duration::from_secs(5);
const NOBODY: &str = "v1/workers/i-00000000000000000/claim";

/// Whether the API server answers at the address that nodes are told, with a certificate of the cluster's authority.
pub(super) async fn server(url: &Url, authority: &str) -> Probe {
    let client = match trusting(authority) {
        Ok(client) => client,
        Err(error) => return Probe::Untrusted(format!("{error:#}")),
    };
    match url.join("/version") {
        Ok(url) => probe(client.get(url)).await,
        Err(error) => Probe::Unreachable(error.to_string()),
    }
}

/// Whether a host of AWS answers.
pub(super) async fn host(client: &Client, host: &str) -> Probe {
    probe(client.get(format!("https://{host}/"))).await
}

/// What stands at the public URL.
pub(super) async fn public(client: &Client, url: &Url) -> Public {
    let at = |path: &str| format!("{}/{path}", url.as_str().trim_end_matches('/'));
    let reached = probe(client.get(at(""))).await;
    let mut public = Public {
        url: url.to_string(),
        is_ours: false,
        exposed: Vec::new(),
        reached,
    };
    if public.reached != Probe::Answers {
        return public;
    }
    let claim = client
        .post(at(NOBODY))
        .header(CONTENT_TYPE, "application/json")
        .body("{}");
    if let Ok(answer) = claim.send().await {
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        public.is_ours = kind.is_some_and(|it| it.starts_with("application/problem+json"));
    }
    for path in ["healthz", "readyz", "metrics"] {
        let answer = client.get(at(path)).send().await;
        if answer.is_ok_and(|it| it.status().is_success()) {
            public.exposed.push(format!("/{path}"));
        }
    }
    public
}

async fn probe(request: RequestBuilder) -> Probe {
    match request.send().await {
        Ok(_) => Probe::Answers,
        Err(error) => {
            let error = error.without_url();
            let untrusted = is_about_certificate(&error);
            let text = format!("{:#}", anyhow::Error::new(error));
            if untrusted {
                Probe::Untrusted(text)
            } else {
                Probe::Unreachable(text)
            }
        }
    }
}

/// Whether TLS itself refused: there is somebody, but not the right one.
fn is_about_certificate(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let is_tls = |it: &(dyn std::error::Error + 'static)| it.is::<rustls::Error>();
        if is_tls(error) || inner.is_some_and(|it| is_tls(it)) {
            return true;
        }
        source = error.source();
    }
    false
}

fn trusting(authority: &str) -> anyhow::Result<Client> {
    let certificates = Certificate::from_pem_bundle(authority.as_bytes()).context("failed to read the cluster's CA")?;
    Client::builder()
        .tls_certs_only(certificates)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(PATIENCE)
        .build()
        .context("failed to set up TLS")
}
