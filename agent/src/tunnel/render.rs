//! A plan of the tunnel in words, without its secrets.

use std::fmt;

use super::link::UplinkLink;
use super::plan::{INTERFACE, MAIN_TABLE, PeerPlan, Plan, usual_mtu};

/// A line for each thing that the tunnel comes to. `changes` is in how many places the interface that is there differs.
pub(super) fn lines(plan: &Plan, link: &UplinkLink, changes: Option<usize>) -> Vec<String> {
    let mut lines = vec![match changes {
        None => format!("makes the interface `{INTERFACE}`"),
        Some(0) => format!("leaves the keys and peers of the interface `{INTERFACE}` as they are, for they are right"),
        Some(count) => format!("sets right what differs at the interface `{INTERFACE}`, in places: {count}"),
    }];
    lines.push(format!("gives it {} and an MTU of {}", list(&plan.addresses), plan.mtu));
    lines.extend(plan.peers.iter().map(peer));
    let mut routes: Vec<(u32, Vec<String>)> = Vec::new();
    for route in &plan.routing.routes {
        let network = route.network.to_string();
        match routes.iter_mut().find(|(table, _)| *table == route.table) {
            Some((_, networks)) => networks.push(network),
            None => routes.push((route.table, vec![network])),
        }
    }
    lines.extend(routes.into_iter().map(|(table, networks)| {
        let table = if table == MAIN_TABLE {
            String::new()
        } else {
            format!(", in table {table}")
        };
        format!("routes {} through it{table}", networks.join(", "))
    }));
    if !plan.routing.outside.is_empty() {
        lines.push(format!(
            "keeps {} outside of it, through `{}`",
            list(&plan.routing.outside),
            link.name
        ));
    }
    lines.extend(plan.routing.policy.map(|it| {
        format!(
            "sends packets without the mark {0}, for which there is only a default route, to table {0}",
            it.mark
        )
    }));
    lines
}

fn peer(peer: &PeerPlan) -> String {
    let endpoints = match &peer.endpoints[..] {
        [] => "without an endpoint".to_owned(),
        endpoints => format!("at {}", list(endpoints)),
    };
    let keepalive = match peer.keepalive {
        0 => "no keepalive".to_owned(),
        seconds => format!("a keepalive each {seconds} s"),
    };
    format!(
        "peer {} {endpoints}, {keepalive}, for {}",
        peer.public_key,
        list(&peer.allowed_ips)
    )
}

fn list<T: ToString>(items: &[T]) -> String {
    match items {
        [] => "nothing".to_owned(),
        items => items.iter().map(T::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl fmt::Display for UplinkLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` has the default route: {}, gateway {}, and an MTU of {}, which makes {} in the tunnel where the document gives none",
            self.name,
            list(&self.networks),
            list(&self.gateways),
            self.mtu,
            usual_mtu(self.mtu)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use dynk8s_api::wireguard::Document;

    use super::lines;
    use crate::tunnel::link::UplinkLink;
    use crate::tunnel::plan::{Below, plan};

    const PRIVATE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
    const PUBLIC: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    fn link() -> UplinkLink {
        UplinkLink {
            index: 2,
            name: "ens5".to_owned(),
            mtu: 9001,
            networks: vec!["172.31.0.10/20".parse().unwrap()],
            gateways: vec!["172.31.0.1".parse().unwrap()],
        }
    }

    fn told(allowed: &str, changes: Option<usize>) -> Vec<String> {
        let text = format!(
            "[Interface]\nPrivateKey = {PRIVATE}\nAddress = 10.98.0.2/32\nDNS = 192.168.10.1\n[Peer]\nPublicKey = {PUBLIC}\n\
             PresharedKey = {PRIVATE}\nEndpoint = vpn.onprem.example:51820\nAllowedIPs = {allowed}\n"
        );
        let link = link();
        let below = Below {
            mtu: link.mtu,
            networks: link.networks.clone(),
            gateways: link.gateways.clone(),
            vpc: vec!["172.31.0.0/16".parse().unwrap()],
            ..Below::default()
        };
        let endpoint: SocketAddr = "198.51.100.20:51820".parse().unwrap();
        let plan = plan(&Document::parse(&text).unwrap(), &[vec![endpoint]], &below).unwrap();
        lines(&plan, &link, changes)
    }

    #[test]
    fn tells_what_becomes_of_a_document() {
        let expected = [
            "makes the interface `dynk8s`",
            "gives it 10.98.0.2/32 and an MTU of 1420",
            &format!("peer {PUBLIC} at 198.51.100.20:51820, a keepalive each 25 s, for 192.168.10.0/24"),
            "routes 192.168.10.0/24 through it",
        ];
        assert_eq!(told("192.168.10.0/24", None), expected);
    }

    #[test]
    fn tells_of_a_default_route_and_of_what_stays_outside() {
        let text = told("0.0.0.0/0", Some(0)).join("\n");
        for part in [
            "leaves the keys and peers of the interface `dynk8s` as they are",
            "routes 0.0.0.0/0 through it, in table 51820",
            "198.51.100.20/32",
            "169.254.169.254/32",
            "172.31.0.0/16",
            "outside of it, through `ens5`",
            "without the mark 51820",
        ] {
            assert!(text.contains(part), "no `{part}` in:\n{text}");
        }
        assert!(!text.contains("fd00:ec2::254"), "there is no way for IPv6:\n{text}");
    }

    #[test]
    fn tells_what_lies_below() {
        let expected = "`ens5` has the default route: 172.31.0.10/20, gateway 172.31.0.1, and an MTU of 9001, which makes 1420 in the tunnel \
                        where the document gives none";
        assert_eq!(link().to_string(), expected);
    }

    #[test]
    fn tells_no_secret() {
        let text = told("0.0.0.0/0", Some(2)).join("\n");
        assert!(!text.contains(PRIVATE) && text.contains("in places: 2"), "{text}");
    }
}
