//! What is wrong with a wg-quick document that can be parsed, so far as that can be told far from the node.

use std::fmt;
use std::net::IpAddr;

use dynk8s_api::wireguard::{Document, Table};
use dynk8s_api::{PrivateKey, PublicKey};
use ipnet::IpNet;

/// What a VPC offers at fixed addresses; an agent refuses to route them elsewhere.
const VPC_SERVICES: [&str; 6] = [
    "169.254.169.254",
    "169.254.169.253",
    "169.254.169.123",
    "fd00:ec2::254",
    "fd00:ec2::253",
    "fd00:ec2::123",
];

/// `MAXNS` of resolv.conf(5).
const RESOLV_CONF_SERVERS: usize = 3;

/// The routing table where all of this is routed.
const MAIN_TABLE: u32 = 254;

/// The public half of the document's private key.
pub(crate) fn public_key(document: &Document) -> Option<PublicKey> {
    let key = PrivateKey::from_secret(&document.interface.private_key).ok()?;
    Some(key.public())
}

/// The addresses of the tunnel's end on the node.
pub(crate) fn addresses(document: &Document) -> impl Iterator<Item = IpAddr> {
    document.interface.addresses.iter().map(IpNet::addr)
}

/// Why no node could use it.
pub(crate) fn refusals(document: &Document) -> Vec<String> {
    let mut refusals = Vec::new();
    if document.interface.dns.is_empty() {
        let missing = "`DNS` is missing: name the on-premises DNS server, which knows the API server's name";
        refusals.push(missing.to_owned());
    }
    if document.peers.iter().all(|it| it.endpoint.is_none()) {
        refusals.push("no `[Peer]` has an `Endpoint`: the node would not know where to call".to_owned());
    }
    let own = public_key(document).map(|it| it.to_string());
    if document.peers.iter().any(|it| Some(it.public_key.to_string()) == own) {
        refusals.push("the peer's `PublicKey` belongs to the interface's own `PrivateKey`".to_owned());
    }
    if matches!(document.interface.table, Table::Auto | Table::Number(MAIN_TABLE)) {
        let allowed = document.peers.iter().flat_map(|it| it.allowed_ips.iter());
        refusals.extend(allowed.filter_map(|network| {
            let taken = taken(document, network)?;
            Some(format!(
                "`AllowedIPs` lists `{network}`, which is {taken}; the node would lose it"
            ))
        }));
    }
    refusals
}

/// What will most likely not work as it stands, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) found: String,
    pub(crate) remedy: &'static str,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found)
    }
}

/// What will most likely not work as it stands.
pub(crate) fn warnings(document: &Document) -> Vec<Warning> {
    let servers = &document.interface.dns;
    let unasked = servers.iter().skip(RESOLV_CONF_SERVERS).map(|it| Warning {
        found: format!(
            "the DNS server `{it}` comes after {RESOLV_CONF_SERVERS} others, and `resolv.conf` takes no more"
        ),
        remedy: "name at most three, the best first",
    });
    let allowed = || document.peers.iter().flat_map(|it| it.allowed_ips.iter());
    let unreachable = servers
        .iter()
        .filter(|it| !allowed().any(|network| network.contains(*it)));
    let unreachable = unreachable.map(|it| Warning {
        found: format!("the DNS server `{it}` is in no `AllowedIPs`, so the tunnel does not lead to it"),
        remedy: "add the server to `AllowedIPs`, if it is behind the gateway",
    });
    unreachable.chain(unasked).collect()
}

/// What the node needs below the tunnel and would be routed into it. What is wider leaves it outside.
fn taken(document: &Document, network: &IpNet) -> Option<String> {
    let is = |it: IpAddr| IpNet::from(it).contains(network);
    let service = VPC_SERVICES.iter().find(|it| it.parse().is_ok_and(is));
    if let Some(service) = service {
        return Some(format!("the VPC's own service `{service}`"));
    }
    let endpoints = document
        .peers
        .iter()
        .filter_map(|it| it.endpoint.as_ref()?.host.parse::<IpAddr>().ok());
    let endpoint = endpoints.into_iter().find(|it| is(*it))?;
    Some(format!("the endpoint `{endpoint}`"))
}
