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
mod tests {
    use std::net::SocketAddr;

    use dynk8s_api::wireguard::Document;
    use ipnet::IpNet;
    use test_case::test_case;

    use super::{Below, Plan, Refusal, plan};

    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";

    fn below() -> Below {
        Below {
            mtu: 9001,
            networks: vec!["172.31.0.10/20".parse().unwrap()],
            resolvers: vec!["10.2.0.2".parse().unwrap()],
        }
    }

    fn planned(interface: &str, peer: &str) -> Result<Plan, Refusal> {
        let text = format!(
            "[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/24\n{interface}\n[Peer]\nPublicKey = {KEY}\n{peer}\n"
        );
        let endpoint: SocketAddr = "198.51.100.20:51820".parse().unwrap();
        plan(&Document::parse(&text).unwrap(), &[Some(endpoint)], &below())
    }

    fn networks(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|it| it.parse().unwrap()).collect()
    }

    #[test]
    fn chooses_what_the_document_leaves_open() {
        let plan = planned("", "AllowedIPs = 192.168.10.7/24, 10.98.0.0/24, 192.168.10.0/24").unwrap();
        assert_eq!(plan.mtu, 1420, "not what the jumbo frames of a VPC would allow");
        assert_eq!(plan.peers[0].keepalive, 25);
        assert_eq!(
            plan.routes,
            networks(&["192.168.10.0/24"]),
            "masked, once, and none that the address brings"
        );
        assert_eq!(plan.addresses, networks(&["10.98.0.2/24"]), "host bits kept");
        assert_eq!(plan.table, None);
    }

    #[test]
    fn takes_what_the_document_says() {
        let plan = planned(
            "MTU = 1380\nListenPort = 51820\nFwMark = 0x20\nTable = 77",
            "PersistentKeepalive = off\nAllowedIPs = 192.168.10.0/24",
        )
        .unwrap();
        assert_eq!((plan.mtu, plan.listen_port, plan.fwmark), (1380, Some(51820), Some(32)));
        assert_eq!((plan.table, plan.peers[0].keepalive), (Some(77), 0));
    }

    #[test_case(1500, 1420; "an ordinary link")]
    #[test_case(1400, 1320; "a smaller one")]
    #[test_case(9001, 1420; "jumbo frames")]
    fn leaves_room_for_the_overhead(link: u32, expected: u32) {
        let text = format!("[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/32\n[Peer]\nPublicKey = {KEY}\n");
        let below = Below { mtu: link, ..below() };
        assert_eq!(
            plan(&Document::parse(&text).unwrap(), &[None], &below).unwrap().mtu,
            expected
        );
    }

    #[test_case("0.0.0.0/0", "default route `0.0.0.0/0`"; "everything")]
    #[test_case("::/0", "default route `::/0`"; "everything of version 6")]
    #[test_case("172.16.0.0/12", "addresses of the VPC's subnet `172.31.0.0/20`"; "more than the subnet")]
    #[test_case("172.31.1.0/24", "addresses of the VPC's subnet"; "a part of the subnet")]
    #[test_case("169.254.0.0/16", "the VPC's own service `169.254.169.254`"; "the metadata service")]
    #[test_case("fd00::/8", "the VPC's own service `fd00:ec2::254`"; "the metadata service of version 6")]
    #[test_case("10.0.0.0/8", "the VPC's resolver `10.2.0.2`"; "the resolver")]
    #[test_case("198.51.100.0/24", "the tunnel's own endpoint `198.51.100.20`"; "the endpoint")]
    fn refuses_to_take_away(network: &str, expected: &str) {
        let error = planned("", &format!("AllowedIPs = 192.168.10.0/24, {network}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected) && error.contains(KEY), "{error}");
    }

    #[test]
    fn lets_a_document_without_routes_say_anything() {
        let plan = planned("Table = off", "AllowedIPs = 0.0.0.0/0").unwrap();
        assert_eq!(plan.routes, []);
    }

    #[test]
    fn refuses_an_address_that_stands_twice() {
        let error = planned("Address = 10.98.0.2/24", "").unwrap_err();
        assert!(matches!(error, Refusal::Repeated { .. }), "{error}");
    }

    #[test]
    fn prints_no_key_of_ours() {
        let printed = format!("{:?}", planned("", "AllowedIPs = 192.168.10.0/24").unwrap().private_key);
        assert_eq!(printed, "[secret]");
    }
}
