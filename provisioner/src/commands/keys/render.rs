//! Keys as text: documents for nodes, peers for the gateway, a table for people.

use std::net::IpAddr;

use dynk8s_api::wireguard::Peer;
use dynk8s_api::{PublicKey, Secret};
use ipnet::IpNet;
use jiff::Timestamp;

use super::decide::inventory::Entry;
use crate::commands::table::{age, table};

/// Seconds between keepalives: NAT forgets.
const KEEPALIVE: u16 = 25;

/// What all generated documents have in common.
#[derive(Clone, Debug)]
pub(super) struct Gateway {
    pub(super) endpoint: String,
    pub(super) public_key: PublicKey,
    pub(super) dns: Vec<IpAddr>,
    pub(super) search: Vec<String>,
    pub(super) allowed_ips: Vec<IpNet>,
    pub(super) mtu: Option<u16>,
}

/// A wg-quick document for a node.
pub(super) fn document(gateway: &Gateway, address: IpAddr, private_key: &Secret, preshared: Option<&Secret>) -> Secret {
    let names = gateway
        .dns
        .iter()
        .map(ToString::to_string)
        .chain(gateway.search.iter().cloned());
    let mtu = gateway.mtu.map_or_else(String::new, |it| format!("MTU = {it}\n"));
    let preshared = preshared.map_or_else(String::new, |it| format!("PresharedKey = {}\n", it.expose()));
    Secret::new(format!(
        "[Interface]\nPrivateKey = {}\nAddress = {}\nDNS = {}\n{mtu}\n\
         [Peer]\nPublicKey = {}\n{preshared}AllowedIPs = {}\nEndpoint = {}\nPersistentKeepalive = {KEEPALIVE}\n",
        private_key.expose(),
        IpNet::from(address),
        join(names),
        gateway.public_key,
        join(gateway.allowed_ips.iter().map(|it| it.trunc().to_string())),
        gateway.endpoint,
    ))
}

/// The node as the gateway's configuration names it. A preshared key stands in it as it is, for the gateway needs it.
pub(super) fn peer(secret: &str, public_key: PublicKey, preshared: Option<&Secret>, addresses: &[IpAddr]) -> String {
    let preshared = preshared.map_or_else(String::new, |it| format!("PresharedKey = {}\n", it.expose()));
    let addresses = join(addresses.iter().map(|it| IpNet::from(*it).to_string()));
    format!("# Secret {secret}\n[Peer]\nPublicKey = {public_key}\n{preshared}AllowedIPs = {addresses}\n")
}

/// The peer of a key that is in the cluster; none if its document cannot be read.
pub(super) fn peer_of(entry: &Entry) -> Option<String> {
    let peers: &[Peer] = &entry.document.as_ref()?.peers;
    let preshared = peers.iter().find_map(|it| it.preshared_key.as_ref());
    Some(peer(&entry.name, entry.public_key()?, preshared, &entry.addresses))
}

/// The list for people.
pub(super) fn list(entries: &[Entry], now: Timestamp) -> String {
    let head = ["NAME", "STATE", "INSTANCE", "ADDRESS", "PUBLIC KEY", "LABELS", "AGE"];
    let rows = entries.iter().map(|it| {
        let labels = it.labels.iter().map(|(key, value)| format!("{key}={value}"));
        [
            it.name.clone(),
            it.state.to_string(),
            it.instance.clone().unwrap_or_default(),
            join(it.addresses.iter().map(ToString::to_string)),
            it.public_key.clone().unwrap_or_default(),
            join(labels),
            age(it.created, now),
        ]
    });
    table(head, rows)
}

/// What is wrong with keys, a line each.
pub(super) fn problems(entries: &[Entry]) -> String {
    let lines = entries.iter().flat_map(|entry| {
        let retiring = entry.retired && entry.instance.is_some();
        let retiring = retiring.then(|| "it is removed when its instance is gone".to_owned());
        let all = entry.problems.iter().cloned().chain(retiring);
        all.map(|it| format!("`{}`: {it}\n", entry.name))
    });
    lines.collect()
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
