//! What a value must look like.

use std::time::Duration;

use jiff::SignedDuration;
use url::Url;

pub(super) fn provisioner(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("is no URL ({error})"))?;
    if url.scheme() != "https" || url.host().is_none() {
        Err("must be a URL that begins with https://".to_owned())
    } else if !is_bare(&url) || !url.username().is_empty() || url.password().is_some() {
        Err("must be scheme, host and port alone, as in https://dynk8s.example.com".to_owned())
    } else {
        Ok(url)
    }
}

/// The text is not repeated: a password may stand in it.
pub(super) fn proxy(text: &str) -> Result<Url, String> {
    let wrong = || "must be a URL as in http://proxy.example.com:3128".to_owned();
    let url: Url = text.parse().map_err(|_| wrong())?;
    let known = matches!(url.scheme(), "http" | "https");
    (known && url.host().is_some() && is_bare(&url))
        .then_some(url)
        .ok_or_else(wrong)
}

fn is_bare(url: &Url) -> bool {
    url.query().is_none() && url.fragment().is_none() && url.path() == "/"
}

pub(super) fn absolute(text: &str) -> Result<&str, String> {
    if text.starts_with('/') {
        Ok(text)
    } else {
        Err("must be an absolute path".to_owned())
    }
}

// It is written into a file of kubeadm's that quotes nothing.
pub(super) fn cri_socket(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("unix://").unwrap_or_default();
    if path.starts_with('/')
        && path
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"/._-".contains(&it))
    {
        Ok(text.to_owned())
    } else {
        Err("must be a socket, as in unix:///run/containerd/containerd.sock".to_owned())
    }
}

pub(super) fn deadline(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a length of time between 1s and 1h, as in \"90s\" or \"10m\"".to_owned();
    let length: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(length)
        .ok()
        .filter(|it| (Duration::from_secs(1)..=Duration::from_hours(1)).contains(it))
        .ok_or_else(wrong)
}
