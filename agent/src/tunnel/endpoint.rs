//! Where the peers are, by the resolvers of the network below: a name that only the tunnel's own resolver knows leads
//! nowhere.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use dynk8s_api::wireguard::{Document, Endpoint};
use tokio::time::Instant;

use crate::retry::{self, Failure, Next, Pauses};
use crate::timeline::Recorder;
use crate::uplink::Uplink;

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(4),
};

/// The addresses of each peer's endpoint, in the document's order; none where a peer has no endpoint.
pub(super) async fn resolve(
    document: &Document,
    uplink: &Uplink,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<Vec<Vec<SocketAddr>>> {
    let failed = |error: &anyhow::Error| recorder.tries_again(&format!("{error:#}"));
    let attempt = async || resolve_once(document, uplink).await;
    let outcome = retry::until(deadline, PAUSES, attempt, |_| Next::Again, failed).await;
    outcome.map_err(Failure::into_error)
}

/// The same, with one try.
pub(super) async fn resolve_once(document: &Document, uplink: &Uplink) -> anyhow::Result<Vec<Vec<SocketAddr>>> {
    let mut resolved = Vec::with_capacity(document.peers.len());
    for peer in &document.peers {
        resolved.push(match &peer.endpoint {
            Some(endpoint) => addresses(endpoint, uplink).await?,
            None => Vec::new(),
        });
    }
    Ok(resolved)
}

async fn addresses(endpoint: &Endpoint, uplink: &Uplink) -> anyhow::Result<Vec<SocketAddr>> {
    let found = uplink.resolve(&endpoint.host).await.with_context(|| {
        format!(
            "failed to find the tunnel's endpoint `{endpoint}` (its name must resolve in the VPC, not only on-premises)"
        )
    })?;
    Ok(found.into_iter().map(|it| SocketAddr::new(it, endpoint.port)).collect())
}
