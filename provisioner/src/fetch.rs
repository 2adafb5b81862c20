//! Requests to AWS: HTTPS only, never redirected, never through a proxy that the environment names, bounded in time and
//! size.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, StatusCode, redirect};

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// The media type, lowercase and without parameters; empty if there is none.
    pub media_type: String,
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
    let media_type = media_type(response.headers());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len() + chunk.len() > limit {
            bail!("the answer is longer than {limit} bytes");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        media_type,
        body,
    })
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = value.and_then(|it| it.split(';').next()).unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{CONTENT_TYPE, HeaderMap};
    use test_case::test_case;

    use super::media_type;

    #[test_case("text/xml", "text/xml")]
    #[test_case("Text/XML ; charset=utf-8", "text/xml"; "with a parameter")]
    #[test_case("", ""; "empty")]
    fn a_media_type_has_no_case_and_no_parameters(value: &str, expected: &str) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]);
        assert_eq!(media_type(&headers), expected);
        assert_eq!(media_type(&HeaderMap::new()), "");
    }
}
