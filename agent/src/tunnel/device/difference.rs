//! What has to change at a device so that it is as planned.

use std::net::SocketAddr;

use dynk8s_api::wireguard;
use ipnet::IpNet;
use wireguard_control::{Device, Key, PeerConfig};

use super::super::plan::{PeerPlan, Plan};
use super::key;

/// One change. Its `Debug` holds no secret: keys that are secret stay in the plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change<'a> {
    PrivateKey,
    Mark,
    Port(u16),
    /// Takes a peer away, by its public key.
    Remove([u8; 32]),
    /// Lets a peer be elsewhere; its session goes on.
    Move(wireguard::Key, SocketAddr),
    /// Adds a peer or sets it right, with an endpoint where the one that it has is wrong.
    Set(&'a PeerPlan, Option<SocketAddr>),
}

/// A device as it was found; a new one has nothing of it.
#[derive(Default)]
pub(super) struct Found {
    private_key: Option<Key>,
    fwmark: u32,
    listen_port: Option<u16>,
    peers: Vec<PeerConfig>,
}

impl From<Device> for Found {
    fn from(device: Device) -> Self {
        Self {
            private_key: device.private_key,
            fwmark: device.fwmark.unwrap_or(0),
            listen_port: device.listen_port,
            peers: device.peers.into_iter().map(|it| it.config).collect(),
        }
    }
}

/// The changes that make the device as planned.
pub(super) fn difference<'a>(found: &Found, plan: &'a Plan) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    let private_key = key(plan.private_key.expose()).ok();
    if private_key.is_none() || found.private_key != private_key {
        changes.push(Change::PrivateKey);
    }
    if found.fwmark != plan.fwmark.unwrap_or(0) {
        changes.push(Change::Mark);
    }
    if let Some(port) = plan.listen_port
        && found.listen_port != Some(port)
    {
        changes.push(Change::Port(port));
    }
    let is_planned = |peer: &PeerConfig| plan.peers.iter().any(|it| names(peer, it));
    let foreign = found.peers.iter().filter(|it| !is_planned(it));
    changes.extend(foreign.map(|it| Change::Remove(it.public_key.0)));
    for planned in &plan.peers {
        let peer = found.peers.iter().find(|it| names(it, planned));
        let lost = peer
            .and_then(|it| it.endpoint)
            .is_none_or(|it| !planned.endpoints.contains(&it));
        let endpoint = planned.endpoints.first().copied().filter(|_| lost);
        if peer.is_none_or(|it| !is_set(it, planned)) {
            changes.push(Change::Set(planned, endpoint));
        } else if let Some(endpoint) = endpoint {
            changes.push(Change::Move(planned.public_key, endpoint));
        }
    }
    changes
}

fn names(peer: &PeerConfig, planned: &PeerPlan) -> bool {
    peer.public_key.as_bytes() == planned.public_key.as_bytes()
}

/// Whether all but the endpoint is right.
fn is_set(peer: &PeerConfig, planned: &PeerPlan) -> bool {
    let preshared = planned.preshared_key.as_ref().and_then(|it| key(it.expose()).ok());
    let there = peer.allowed_ips.iter();
    let mut networks: Vec<IpNet> = there.filter_map(|it| IpNet::new(it.address, it.cidr).ok()).collect();
    networks.sort_unstable();
    // Of zeros it is none: to WireGuard, and so to wg.
    let given = |it: Option<Key>| it.filter(|it| *it != Key::zero());
    given(peer.preshared_key.clone()) == given(preshared)
        && peer.persistent_keepalive_interval.unwrap_or(0) == planned.keepalive
        && networks == planned.allowed_ips
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use dynk8s_api::Secret;
    use test_case::test_case;
    use wireguard_control::{AllowedIp, Key, PeerConfig, PeerInfo};

    use super::super::super::plan::{PeerPlan, Plan, Routing};
    use super::{Change, Found, difference};

    const PRIVATE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
    const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const PUBLIC: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    fn endpoint(last: u8) -> SocketAddr {
        SocketAddr::from(([198, 51, 100, last], 51820))
    }

    fn plan() -> Plan {
        Plan {
            private_key: Secret::new(PRIVATE.to_owned()),
            listen_port: Some(51820),
            fwmark: None,
            peers: vec![PeerPlan {
                public_key: dynk8s_api::wireguard::Key::from_base64(PUBLIC).unwrap(),
                preshared_key: Some(Secret::new(PRIVATE.to_owned())),
                endpoints: vec![endpoint(20), endpoint(21)],
                keepalive: 25,
                allowed_ips: vec!["10.98.0.0/24".parse().unwrap(), "192.168.10.0/24".parse().unwrap()],
            }],
            addresses: Vec::new(),
            mtu: 1420,
            routing: Routing::default(),
        }
    }

    fn peer() -> PeerConfig {
        let mut peer = PeerInfo::from_public_key(Key::from_base64(PUBLIC).unwrap()).config;
        peer.preshared_key = Key::from_base64(PRIVATE).ok();
        peer.endpoint = Some(endpoint(20));
        peer.persistent_keepalive_interval = Some(25);
        peer.allowed_ips = ["192.168.10.0", "10.98.0.0"].map(allowed).to_vec();
        peer
    }

    fn found() -> Found {
        Found {
            private_key: Key::from_base64(PRIVATE).ok(),
            fwmark: 0,
            listen_port: Some(51820),
            peers: vec![peer()],
        }
    }

    fn allowed(network: &str) -> AllowedIp {
        AllowedIp {
            address: network.parse().unwrap(),
            cidr: 24,
        }
    }

    #[test]
    fn leaves_alone_what_is_right() {
        assert_eq!(difference(&found(), &plan()), []);
    }

    #[test_case(None; "as none")]
    #[test_case(Some(Key::zero()); "as zeros")]
    fn a_preshared_key_of_zeros_is_none(shown: Option<Key>) {
        let mut found = found();
        found.peers[0].preshared_key = shown;
        let mut plan = plan();
        assert!(matches!(difference(&found, &plan)[..], [Change::Set(..)]));
        plan.peers[0].preshared_key = Some(Secret::new(ZEROS.to_owned()));
        assert_eq!(difference(&found, &plan), []);
        plan.peers[0].preshared_key = None;
        assert_eq!(difference(&found, &plan), []);
    }

    #[test]
    fn sets_everything_of_a_new_device() {
        let plan = plan();
        let expected = [
            Change::PrivateKey,
            Change::Port(51820),
            Change::Set(&plan.peers[0], Some(endpoint(20))),
        ];
        assert_eq!(difference(&Found::default(), &plan), expected);
    }

    #[test_case(|it| it.peers[0].endpoint = Some(endpoint(21)), "[]"; "another of the names addresses")]
    #[test_case(|it| it.peers[0].endpoint = Some(endpoint(99)), "Move"; "a peer that is elsewhere")]
    #[test_case(|it| it.peers[0].endpoint = None, "Move"; "a peer that is nowhere")]
    #[test_case(|it| it.peers[0].persistent_keepalive_interval = None, "Set"; "no keepalive")]
    #[test_case(|it| it.peers[0].preshared_key = None, "Set"; "no preshared key")]
    #[test_case(|it| it.peers[0].allowed_ips.truncate(1), "Set"; "a network missing")]
    #[test_case(|it| it.peers[0].allowed_ips.push(allowed("10.0.0.0")), "Set"; "a network too many")]
    #[test_case(|it| it.peers.clear(), "Set"; "no peer")]
    #[test_case(|it| it.peers.push(PeerInfo::from_public_key(Key::zero()).config), "Remove"; "a peer too many")]
    #[test_case(|it| it.private_key = Some(Key::zero()), "PrivateKey"; "another private key")]
    #[test_case(|it| it.fwmark = 7, "Mark"; "a mark")]
    #[test_case(|it| it.listen_port = Some(7), "Port"; "another port")]
    fn changes_what_is_wrong_and_nothing_else(damage: impl Fn(&mut Found), expected: &str) {
        let mut found = found();
        damage(&mut found);
        let plan = plan();
        let changes = difference(&found, &plan);
        let printed = format!("{changes:?}");
        assert!(
            printed
                .trim_start_matches('[')
                .starts_with(expected.trim_start_matches('[')),
            "{printed}"
        );
        assert!(changes.len() <= 1, "{printed}");
        assert!(!printed.contains(PRIVATE), "{printed}");
    }
}
