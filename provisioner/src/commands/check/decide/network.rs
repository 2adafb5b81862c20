//! Networks that overlap, and addresses that nothing leads to.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Finding, listed};
use crate::commands::check::facts::{Networks, Seen};
use crate::commands::keys::decide::inventory::Entry;
use crate::config::Config;

const CHECK: &str = "networks";

pub(crate) fn overlaps(pool: &[Entry], networks: &Seen<Networks>, config: Option<&Config>) -> Vec<Finding> {
    let networks = match networks {
        Err(why) => return vec![Finding::unseen(CHECK, why)],
        Ok(networks) => networks,
    };
    let server = config.and_then(|it| it.cluster.server.host_str()?.trim_matches(['[', ']']).parse().ok());
    let mut findings: Vec<Finding> = pool.iter().flat_map(|it| of_key(it, networks, server)).collect();
    if let Some(within) = server.and_then(|it: IpAddr| networks.services.iter().find(|network| network.contains(&it))) {
        let remedy = "name the API server by an address of the LAN: that of a Service works only where kube-proxy runs";
        findings.push(Finding::failed(
            CHECK,
            format!("`cluster.server` is in the Services' `{within}`"),
            remedy,
        ));
    }
    if findings.is_empty() && !pool.is_empty() {
        let known = [&networks.pods[..], &networks.services[..]].concat();
        // Each Node's part of the pods' network is in the whole, and there may be hundreds.
        let known: Vec<String> = IpNet::aggregate(&known).iter().map(ToString::to_string).collect();
        let found = format!(
            "no key has an address of the cluster's own networks ({})",
            listed(&known)
        );
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

fn of_key(entry: &Entry, networks: &Networks, server: Option<IpAddr>) -> Vec<Finding> {
    let name = &entry.name;
    let within = |list: &[IpNet], address: &IpAddr| list.iter().find(|it| it.contains(address)).copied();
    let mut findings = Vec::new();
    for address in &entry.addresses {
        let pods = within(&networks.pods, address).map(|it| ("pods", it));
        let services = within(&networks.services, address).map(|it| ("Services", it));
        for (whose, network) in pods.into_iter().chain(services) {
            let found = format!("`{name}` has the address `{address}`, which is in the {whose}' `{network}`");
            let remedy = "give the tunnel a network that nothing else uses, on the gateway and in the keys";
            findings.push(Finding::failed(CHECK, found, remedy));
        }
    }
    let Some(document) = &entry.document else {
        return findings;
    };
    for server in &document.interface.dns {
        if let Some(network) = within(&networks.services, server) {
            let found = format!("the DNS server `{server}` of `{name}` is in the Services' `{network}`");
            let remedy = "name the DNS server of the LAN: a node resolves names before kube-proxy runs";
            findings.push(Finding::failed(CHECK, found, remedy));
        }
    }
    let allowed = || document.peers.iter().flat_map(|it| it.allowed_ips.iter());
    if let Some(server) = server.filter(|server| !allowed().any(|it| it.contains(server))) {
        let found = format!("the API server `{server}` is in no `AllowedIPs` of `{name}`");
        findings.push(Finding::failed(CHECK, found, "add it: the tunnel would not lead there"));
    }
    findings
}
