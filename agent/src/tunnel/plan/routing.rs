//! Which packets go into the tunnel: as wg-quick routes them, but for what the machine needs below it.

use std::net::{IpAddr, SocketAddr};

use dynk8s_api::wireguard::{Document, Interface, Key, Table};
use ipnet::IpNet;

use super::Below;

/// `RT_TABLE_MAIN` of `rtnetlink(7)`.
pub(in crate::tunnel) const MAIN_TABLE: u32 = 254;

/// The mark and the table of wg-quick's policy for a default route, where the document names no mark.
const POLICY: u32 = 51820;

/// What a VPC offers at fixed addresses, whatever its own network is: metadata, DNS and time.
const VPC_SERVICES: &[&str] = &[
    "169.254.169.254",
    "169.254.169.253",
    "169.254.169.123",
    "fd00:ec2::254",
    "fd00:ec2::253",
    "fd00:ec2::123",
];

/// The routes that there should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tunnel) struct Routing {
    /// Through the tunnel.
    pub(in crate::tunnel) routes: Vec<Route>,
    /// Through the gateway below, in the main table: what a route through the tunnel would take along.
    pub(in crate::tunnel) outside: Vec<IpNet>,
    /// The policy that lets a default route into the tunnel without losing the tunnel's own packets.
    pub(in crate::tunnel) policy: Option<Policy>,
}

/// A route through the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tunnel) struct Route {
    pub(in crate::tunnel) network: IpNet,
    pub(in crate::tunnel) table: u32,
}

/// Packets without this mark, for which the main table has no more than a default route, go to the table of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tunnel) struct Policy {
    pub(in crate::tunnel) mark: u32,
    pub(in crate::tunnel) v4: bool,
    pub(in crate::tunnel) v6: bool,
}

/// Why a document cannot be applied on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::tunnel) enum Refusal {
    #[error(
        "`AllowedIPs` of peer {peer} lists `{network}`, which is {what}; take it out, for the machine would lose it"
    )]
    Takes { peer: Key, network: IpNet, what: String },
    #[error("`{address}` stands in `Address` twice")]
    Repeated { address: IpNet },
}

/// Something that must stay reachable below the tunnel.
struct Needed {
    network: IpNet,
    what: &'static str,
}

pub(super) fn routing(document: &Document, endpoints: &[Vec<SocketAddr>], below: &Below) -> Result<Routing, Refusal> {
    let interface = &document.interface;
    let networks = networks(document);
    let (main, policy) = match interface.table {
        Table::Off => return Ok(Routing::default()),
        Table::Auto => (true, policy(interface, &networks)),
        Table::Number(number) => (number == MAIN_TABLE, None),
    };
    let table = |network: &IpNet| match (interface.table, policy) {
        (Table::Number(number), _) => number,
        (_, Some(policy)) if network.prefix_len() == 0 => policy.mark,
        _ => MAIN_TABLE,
    };
    let routes = networks.iter().map(|it| Route {
        network: *it,
        table: table(it),
    });
    let outside = if main {
        let needed = needed(endpoints, below);
        refuse_theft(document, &needed)?;
        outside(&networks, &needed, below)
    } else {
        Vec::new()
    };
    Ok(Routing {
        routes: routes.collect(),
        outside,
        policy,
    })
}

/// The networks behind the peers that are not on the interface by its own address.
fn networks(document: &Document) -> Vec<IpNet> {
    let connected = |network: &IpNet| document.interface.addresses.iter().any(|it| it.trunc() == *network);
    let all = document.peers.iter().flat_map(|peer| &peer.allowed_ips);
    let mut networks: Vec<IpNet> = all.map(IpNet::trunc).filter(|network| !connected(network)).collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}

fn policy(interface: &Interface, networks: &[IpNet]) -> Option<Policy> {
    let default = |v4: bool| {
        let of_family = |it: &&IpNet| matches!(it, IpNet::V4(_)) == v4;
        networks.iter().filter(of_family).any(|it| it.prefix_len() == 0)
    };
    let (v4, v6) = (default(true), default(false));
    let mark = interface.fwmark.unwrap_or(POLICY);
    (v4 || v6).then_some(Policy { mark, v4, v6 })
}

fn needed(endpoints: &[Vec<SocketAddr>], below: &Below) -> Vec<Needed> {
    let host = |what| {
        move |address: IpAddr| Needed {
            network: address.into(),
            what,
        }
    };
    let network = |what| {
        move |network: &IpNet| Needed {
            network: network.trunc(),
            what,
        }
    };
    let services = VPC_SERVICES.iter().filter_map(|it| it.parse().ok());
    let endpoints = endpoints.iter().flatten().map(SocketAddr::ip);
    let networks = below.networks.iter().filter(|it| !is_link_local(it));
    services
        .map(host("the VPC's own service"))
        .chain(below.resolvers.iter().copied().map(host("the VPC's resolver")))
        .chain(endpoints.map(host("the tunnel's own endpoint")))
        .chain(below.provisioner.iter().copied().map(host("the provisioner")))
        .chain(networks.map(network("in the VPC's subnet")))
        .chain(below.vpc.iter().map(network("in the VPC's network")))
        .collect()
}

/// Of two routes to one network, or of one inside of the other, the narrower takes all.
fn refuse_theft(document: &Document, needed: &[Needed]) -> Result<(), Refusal> {
    for peer in &document.peers {
        for network in &peer.allowed_ips {
            if let Some(taken) = needed.iter().find(|it| it.network.contains(network)) {
                return Err(Refusal::Takes {
                    peer: peer.public_key,
                    network: *network,
                    what: format!("{} `{}`", taken.what, plain(taken.network)),
                });
            }
        }
    }
    Ok(())
}

/// What is wider than something needed lets it go by a route of its own, unless one is there that is as narrow.
fn outside(networks: &[IpNet], needed: &[Needed], below: &Below) -> Vec<IpNet> {
    let covered = |it: &IpNet| networks.iter().any(|network| network.contains(it));
    let connected = |it: &IpNet| below.networks.iter().any(|network| network.trunc().contains(it));
    let reachable = |it: &IpNet| {
        below
            .gateways
            .iter()
            .any(|gateway| gateway.is_ipv4() == it.addr().is_ipv4())
    };
    let mut outside: Vec<IpNet> = needed
        .iter()
        .map(|it| it.network)
        .filter(|it| covered(it) && !connected(it) && reachable(it))
        .collect();
    outside.sort_unstable();
    outside.dedup();
    outside
}

fn is_link_local(network: &IpNet) -> bool {
    matches!(network.addr(), IpAddr::V6(it) if it.is_unicast_link_local())
}

/// A host without the length of its prefix.
fn plain(network: IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}
