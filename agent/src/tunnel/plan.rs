//! What the tunnel's interface should be: decided from the document and from what the network below looks like.

use std::net::{IpAddr, SocketAddr};

use dynk8s_api::Secret;
use dynk8s_api::wireguard::{Document, Key, Table};
use ipnet::IpNet;

/// The interface's name.
pub(crate) const INTERFACE: &str = "dynk8s";

/// What WireGuard adds to a packet over IPv6, and the largest packet that passes everywhere outside of a VPC.
const OVERHEAD: u32 = 80;
const ETHERNET_MTU: u32 = 1500;

/// Seconds between keepalives where the document does not say: NAT forgets, and a handshake needs a packet to begin.
const KEEPALIVE: u16 = 25;

/// What a VPC offers at fixed addresses, whatever its own network is: metadata, DNS and time.
const VPC_SERVICES: &[&str] = &[
    "169.254.169.254",
    "169.254.169.253",
    "169.254.169.123",
    "fd00:ec2::254",
    "fd00:ec2::253",
    "fd00:ec2::123",
];

/// The network below the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Below {
    pub(crate) mtu: u32,
    /// The networks of the interface that has the default route.
    pub(crate) networks: Vec<IpNet>,
    /// The resolvers that DHCP gave.
    pub(crate) resolvers: Vec<IpAddr>,
}

/// What the interface should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) private_key: Secret,
    pub(crate) listen_port: Option<u16>,
    pub(crate) fwmark: Option<u32>,
    pub(crate) peers: Vec<PeerPlan>,
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) mtu: u32,
    /// Routes to the networks behind the peers, and the table that they go to; none means the main one.
    pub(crate) routes: Vec<IpNet>,
    pub(crate) table: Option<u32>,
}

/// What a peer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerPlan {
    pub(crate) public_key: Key,
    pub(crate) preshared_key: Option<Secret>,
    pub(crate) endpoint: Option<SocketAddr>,
    pub(crate) keepalive: u16,
    pub(crate) allowed_ips: Vec<IpNet>,
}

/// Why a document cannot be applied on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("`AllowedIPs` of peer {peer} lists the default route `{network}`; list the on-premises networks instead")]
    DefaultRoute { peer: Key, network: IpNet },
    #[error(
        "`AllowedIPs` of peer {peer} lists `{network}`, which covers {what}; list networks that leave it alone, for the \
         machine would lose it"
    )]
    Covers { peer: Key, network: IpNet, what: String },
    #[error("`{address}` stands in `Address` twice")]
    Repeated { address: IpNet },
}

/// Plans the interface. `endpoints` are the peers' resolved endpoints, in the document's order.
pub(crate) fn plan(document: &Document, endpoints: &[Option<SocketAddr>], below: &Below) -> Result<Plan, Refusal> {
    let interface = &document.interface;
    let table = interface.table;
    if table == Table::Auto {
        refuse_theft(document, endpoints, below)?;
    }
    for (index, address) in interface.addresses.iter().enumerate() {
        if interface.addresses[..index].contains(address) {
            return Err(Refusal::Repeated { address: *address });
        }
    }
    let peers = document.peers.iter().zip(endpoints).map(|(peer, endpoint)| PeerPlan {
        public_key: peer.public_key,
        preshared_key: peer.preshared_key.clone(),
        endpoint: *endpoint,
        keepalive: peer.persistent_keepalive.unwrap_or(KEEPALIVE),
        allowed_ips: peer.allowed_ips.clone(),
    });
    let chosen = below.mtu.min(ETHERNET_MTU).saturating_sub(OVERHEAD);
    Ok(Plan {
        private_key: interface.private_key.clone(),
        listen_port: interface.listen_port,
        fwmark: interface.fwmark,
        peers: peers.collect(),
        addresses: interface.addresses.clone(),
        mtu: interface.mtu.map_or(chosen, u32::from),
        routes: routes(document),
        table: match table {
            Table::Number(number) => Some(number),
            Table::Auto | Table::Off => None,
        },
    })
}

/// A route for each network that is not on the interface by its own address.
fn routes(document: &Document) -> Vec<IpNet> {
    if document.interface.table == Table::Off {
        return Vec::new();
    }
    let connected = |network: &IpNet| document.interface.addresses.iter().any(|it| it.trunc() == *network);
    let all = document.peers.iter().flat_map(|peer| &peer.allowed_ips);
    let mut routes: Vec<IpNet> = all.map(IpNet::trunc).filter(|network| !connected(network)).collect();
    routes.sort_unstable();
    routes.dedup();
    routes
}

/// A route may not take away what the machine needs below the tunnel.
fn refuse_theft(document: &Document, endpoints: &[Option<SocketAddr>], below: &Below) -> Result<(), Refusal> {
    let services = VPC_SERVICES.iter().filter_map(|it| it.parse().ok());
    let resolvers = below.resolvers.iter().copied();
    let endpoints = endpoints.iter().flatten().map(SocketAddr::ip);
    let needed: Vec<(IpAddr, &str)> = services
        .map(|it| (it, "the VPC's own service"))
        .chain(resolvers.map(|it| (it, "the VPC's resolver")))
        .chain(endpoints.map(|it| (it, "the tunnel's own endpoint")))
        .collect();
    for peer in &document.peers {
        for network in &peer.allowed_ips {
            let (peer, network) = (peer.public_key, *network);
            if network.prefix_len() == 0 {
                return Err(Refusal::DefaultRoute { peer, network });
            }
            let covers = |what| Err(Refusal::Covers { peer, network, what });
            if let Some(subnet) = below.networks.iter().find(|it| overlap(it, &network)) {
                return covers(format!("addresses of the VPC's subnet `{}`", subnet.trunc()));
            }
            if let Some((address, what)) = needed.iter().find(|(it, _)| network.contains(it)) {
                return covers(format!("{what} `{address}`"));
            }
        }
    }
    Ok(())
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

#[cfg(test)]
mod tests;
