//! What the tunnel's interface should be: decided from the document and from what the network below looks like.

mod routing;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use dynk8s_api::Secret;
use dynk8s_api::wireguard::{Document, Key, Peer};
use ipnet::IpNet;

#[cfg(test)]
use routing::Route;
pub(super) use routing::{MAIN_TABLE, Policy, Refusal, Routing};

/// The interface's name.
pub(crate) const INTERFACE: &str = "dynk8s";

/// What WireGuard adds to a packet over IPv6, and the largest packet that passes everywhere outside of a VPC.
const OVERHEAD: u32 = 80;
const ETHERNET_MTU: u32 = 1500;

/// Seconds between keepalives where the document does not say: NAT forgets, and a handshake needs a packet to begin.
const KEEPALIVE: u16 = 25;

/// The network below the tunnel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Below {
    pub(crate) mtu: u32,
    /// The networks of the interface that has the default route.
    pub(crate) networks: Vec<IpNet>,
    /// That interface's gateways, at most one a family.
    pub(crate) gateways: Vec<IpAddr>,
    /// The VPC's own networks.
    pub(crate) vpc: Vec<IpNet>,
    /// The resolvers that DHCP gave.
    pub(crate) resolvers: Vec<IpAddr>,
    /// The provisioner's addresses.
    pub(crate) provisioner: Vec<IpAddr>,
}

/// What the interface should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) private_key: Secret,
    pub(super) listen_port: Option<u16>,
    pub(super) fwmark: Option<u32>,
    pub(super) peers: Vec<PeerPlan>,
    pub(super) addresses: Vec<IpNet>,
    pub(super) mtu: u32,
    pub(super) routing: Routing,
}

/// What a peer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerPlan {
    pub(super) public_key: Key,
    pub(super) preshared_key: Option<Secret>,
    /// Where it may be: any of these is right, the first is taken.
    pub(super) endpoints: Vec<SocketAddr>,
    pub(super) keepalive: u16,
    pub(super) allowed_ips: Vec<IpNet>,
}

/// Plans the interface. `endpoints` are the peers' resolved endpoints, in the document's order.
pub(super) fn plan(document: &Document, endpoints: &[Vec<SocketAddr>], below: &Below) -> Result<Plan, Refusal> {
    let interface = &document.interface;
    let routing = routing::routing(document, endpoints, below)?;
    for (index, address) in interface.addresses.iter().enumerate() {
        if interface.addresses[..index].contains(address) {
            return Err(Refusal::Repeated { address: *address });
        }
    }
    Ok(Plan {
        private_key: interface.private_key.clone(),
        listen_port: interface.listen_port,
        fwmark: routing.policy.map(|it| it.mark).or(interface.fwmark),
        peers: peers(&document.peers, endpoints),
        addresses: interface.addresses.clone(),
        mtu: interface.mtu.map_or(usual_mtu(below.mtu), u32::from),
        routing,
    })
}

/// The tunnel's MTU where the document gives none, upon an interface of this MTU.
pub(super) fn usual_mtu(below: u32) -> u32 {
    below.min(ETHERNET_MTU).saturating_sub(OVERHEAD)
}

fn peers(peers: &[Peer], endpoints: &[Vec<SocketAddr>]) -> Vec<PeerPlan> {
    let planned = peers.iter().zip(endpoints).enumerate();
    let planned = planned.map(|(index, (peer, endpoints))| {
        // A network belongs to one peer: WireGuard gives it to whoever names it last.
        let later = |network: &IpNet| peers[index + 1..].iter().any(|it| it.allowed_ips.contains(network));
        let mut allowed_ips: Vec<IpNet> = peer.allowed_ips.iter().copied().filter(|it| !later(it)).collect();
        allowed_ips.sort_unstable();
        allowed_ips.dedup();
        PeerPlan {
            public_key: peer.public_key,
            preshared_key: peer.preshared_key.clone(),
            endpoints: endpoints.clone(),
            keepalive: peer.persistent_keepalive.unwrap_or(KEEPALIVE),
            allowed_ips,
        }
    });
    planned.collect()
}
