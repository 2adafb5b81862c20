//! What to look at, and what it means.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

/// A cluster has three API servers, or five.
const MOST: usize = 8;

/// What was looked at. What could not be, or is not there, is not in it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The addresses behind `default/kubernetes`.
    pub(super) servers: Vec<Tried>,
    pub(super) dns: Vec<Asked>,
    pub(super) mtu: Option<Mtu>,
}

/// An API server.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) address: SocketAddr,
    /// Why it does not answer, and what to do.
    pub(super) fault: Option<String>,
}

/// A server of cluster DNS.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) server: IpAddr,
    pub(super) udp: bool,
    pub(super) tcp: bool,
}

/// The MTU of pods against that of the tunnel.
#[derive(Debug)]
pub(super) struct Mtu {
    pub(super) pods: u32,
    /// Where that of pods was found.
    pub(super) of: String,
    pub(super) tunnel: u32,
}

/// Where the MTU of pods is to be found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pods {
    Stated(u32),
    /// An interface of the host.
    Of(String),
}

/// What is wrong, each with its remedy; `None` if nothing was looked at.
pub(super) fn findings(seen: &Seen) -> Option<Vec<String>> {
    if seen.servers.is_empty() && seen.dns.is_empty() && seen.mtu.is_none() {
        return None;
    }
    let servers = seen.servers.iter().filter_map(silent);
    let dns = seen.dns.iter().filter_map(mute);
    Some(servers.chain(dns).chain(seen.mtu.as_ref().and_then(large)).collect())
}

fn silent(tried: &Tried) -> Option<String> {
    let fault = tried.fault.as_ref()?;
    Some(format!(
        "pods that use the Service `default/kubernetes` may be sent to {}: {fault}; let the tunnel's `AllowedIPs` cover each API \
         server, and the gateway lead there and back",
        tried.address
    ))
}

fn mute(asked: &Asked) -> Option<String> {
    let Asked { server, udp, tcp } = asked;
    let text = match (udp, tcp) {
        (true, true) => return None,
        (true, false) => {
            "answers by UDP and not by TCP, so pods lose long answers; let its Service have port 53 by TCP, and let TCP pass on the way"
        }
        (false, true) => {
            "answers by TCP and not by UDP, so pods wait long for each name; let its Service have port 53 by UDP, and let UDP pass on \
             the way"
        }
        (false, false) => {
            "answers neither by UDP nor by TCP, so pods resolve no names; check that its pods run, that kube-proxy runs on this node, \
             and that the way leads to the networks of pods (`AllowedIPs`, the gateway's routes)"
        }
    };
    Some(format!("cluster DNS at {server} {text}"))
}

fn large(mtu: &Mtu) -> Option<String> {
    let Mtu { pods, of, tunnel } = mtu;
    (pods > tunnel).then(|| {
        format!(
            "packets of pods have up to {pods} bytes ({of}) and those of the tunnel {tunnel}, so large ones get lost or are \
             fragmented; set the MTU of the pod network to {tunnel}, less what it adds itself"
        )
    })
}

/// Where the API servers are, as their Endpoints say.
pub(super) fn addresses(endpoints: &Value) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for subset in list(&endpoints["subsets"]) {
        let ports = list(&subset["ports"]);
        let port = ports.iter().find(|it| it["name"] == "https").or(ports.first());
        let port = port.and_then(|it| u16::try_from(it["port"].as_u64()?).ok());
        let addresses = list(&subset["addresses"]).iter();
        let addresses = addresses.filter_map(|it| it["ip"].as_str()?.parse::<IpAddr>().ok());
        found.extend(addresses.filter_map(|it| Some(SocketAddr::new(it, port?))));
    }
    found.truncate(MOST);
    found
}

/// Whether a server is there at all: kubeadm names one also where nobody has installed DNS. A cache on the node itself is no Service.
pub(super) fn is_served(server: IpAddr, services: &Value) -> bool {
    let is_cache = match server {
        IpAddr::V4(it) => it.is_link_local(),
        IpAddr::V6(it) => it.is_unicast_link_local(),
    };
    let has = |service: &Value| {
        let addresses = list(&service["spec"]["clusterIPs"]).iter();
        let mut addresses = addresses.chain([&service["spec"]["clusterIP"]]);
        addresses.any(|it| it.as_str().is_some_and(|it| it.parse() == Ok(server)))
    };
    is_cache || list(&services["items"]).iter().any(has)
}

/// What a configuration of CNI says of the MTU, directly or by the interface that it makes.
pub(super) fn pods(configuration: &Value) -> Option<Pods> {
    let chain = match &configuration["plugins"] {
        Value::Array(plugins) => plugins.as_slice(),
        _ => std::slice::from_ref(configuration),
    };
    let stated = |it: &Value| it["mtu"].as_u64().or(it["delegate"]["mtu"].as_u64());
    let stated = chain.iter().find_map(stated).filter(|it| *it > 0);
    match stated {
        Some(mtu) => u32::try_from(mtu).ok().map(Pods::Stated),
        None => chain.iter().find_map(interface).map(Pods::Of),
    }
}

fn interface(plugin: &Value) -> Option<String> {
    let name = match plugin["type"].as_str()? {
        "bridge" => plugin["bridge"].as_str().unwrap_or("cni0"),
        "flannel" => "cni0",
        "cilium-cni" => "cilium_host",
        _ => return None,
    };
    let is_name = name.len() < 16 && !name.contains(['/', '.']);
    is_name.then(|| name.to_owned())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
