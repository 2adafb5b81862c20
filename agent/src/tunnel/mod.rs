//! The third step: the WireGuard tunnel, through netlink. It is up when the other side has answered.

mod device;
mod link;
mod message;
mod plan;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use dynk8s_api::Secret;
use dynk8s_api::wireguard::{Document, Endpoint};
use tokio::time::{Instant, sleep};

use crate::retry::{self, Failure, Next, Pauses};
use crate::timeline::Recorder;
use crate::uplink::Uplink;

pub(crate) use link::{Netlink, UplinkLink};

use device::Applied;
use plan::{Below, Plan};

/// A session lives so long; an older handshake proves nothing.
const SESSION: Duration = Duration::from_mins(3);

const POLL: Duration = Duration::from_millis(100);

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(4),
};

/// A tunnel whose other side has answered.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    /// The index of its interface.
    pub(crate) index: u32,
    /// The node's address.
    pub(crate) address: IpAddr,
    /// Who answers, for people.
    pub(crate) peer: String,
    /// The on-premises DNS servers, at least one.
    pub(crate) dns: Vec<IpAddr>,
    /// Search domains.
    pub(crate) search: Vec<String>,
    /// The interface below it.
    pub(crate) uplink: UplinkLink,
}

/// Brings the tunnel up as the document says, or leaves it alone if it is as it should be.
pub(crate) async fn up(
    text: &Secret,
    uplink: &Uplink,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<Tunnel> {
    let document = Document::parse(text.expose()).context("failed to read the key's WireGuard configuration")?;
    let interface = &document.interface;
    if interface.dns.is_empty() {
        bail!(
            "failed to read the key's WireGuard configuration: `DNS` is missing, and the node needs an on-premises resolver"
        );
    }
    let netlink = Netlink::open()?;
    let endpoints = resolve(&document, uplink, deadline, recorder).await?;
    let below = netlink.uplink().await?;
    let plan = plan::plan(
        &document,
        &endpoints,
        &Below {
            mtu: below.mtu,
            networks: below.networks.clone(),
            resolvers: uplink.servers().unwrap_or_default(),
        },
    )
    .context("failed to apply the key's WireGuard configuration")?;
    let device = device::apply(&plan)?;
    let index = netlink.apply(&plan).await?;
    answered(&device, &plan, deadline).await?;
    Ok(Tunnel {
        index,
        address: interface.addresses[0].addr(),
        peer: peers(&plan),
        dns: interface.dns.clone(),
        search: interface.search.clone(),
        uplink: below,
    })
}

/// Resolves the peers' endpoints with the resolvers of the network below.
async fn resolve(
    document: &Document,
    uplink: &Uplink,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<Vec<Option<SocketAddr>>> {
    let mut resolved = Vec::with_capacity(document.peers.len());
    for peer in &document.peers {
        resolved.push(match &peer.endpoint {
            Some(endpoint) => Some(resolve_one(endpoint, uplink, deadline, recorder).await?),
            None => None,
        });
    }
    Ok(resolved)
}

async fn resolve_one(
    endpoint: &Endpoint,
    uplink: &Uplink,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<SocketAddr> {
    let attempt = async || {
        let addresses = uplink.resolve(&endpoint.host).await?;
        addresses.first().copied().context("the answer names no address")
    };
    let failed = |error: &anyhow::Error| recorder.tries_again(&format!("{error:#}"));
    let found = retry::until(deadline, PAUSES, attempt, |_| Next::Again, failed).await;
    let address = found.map_err(Failure::into_error).with_context(|| {
        format!(
            "failed to find the tunnel's endpoint `{endpoint}` (its name must resolve in the VPC, not only on-premises)"
        )
    })?;
    Ok(SocketAddr::new(address, endpoint.port))
}

/// Waits until a peer has answered. An interface with wrong keys looks perfectly up.
async fn answered(device: &Applied, plan: &Plan, deadline: Instant) -> anyhow::Result<()> {
    loop {
        let fresh = device
            .last_handshake()?
            .is_some_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() < SESSION);
        if fresh {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!(unanswered(plan));
        }
        sleep(POLL).await;
    }
}

fn unanswered(plan: &Plan) -> String {
    format!(
        "failed to reach the tunnel's other side: no answer from {} (let security group and NAT pass UDP to it; check that the gateway runs \
         and has this key's public half as a peer; check both clocks)",
        peers(plan)
    )
}

fn peers(plan: &Plan) -> String {
    let peers = plan.peers.iter().map(|peer| match peer.endpoint {
        Some(endpoint) => format!("peer {} at {endpoint}", peer.public_key),
        None => format!("peer {} without an endpoint", peer.public_key),
    });
    peers.collect::<Vec<_>>().join(", ")
}
