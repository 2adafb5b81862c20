//! What it means that no peer answers, as far as that can be known, and what to do.

use std::net::SocketAddr;

use dynk8s_api::wireguard::Key;
use jiff::SignedDuration;

/// A gateway refuses a handshake that is older than the last one of the same key: so much behind may be too much.
const BEHIND: SignedDuration = SignedDuration::from_secs(-2);

/// What is known when nobody answers.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    /// Our own public key.
    pub(super) ours: Option<Key>,
    pub(super) peers: Vec<SilentPeer>,
    /// How far this machine's clock is ahead of the provisioner's, if it was ever heard.
    pub(super) skew: Option<SignedDuration>,
}

#[derive(Clone, Debug)]
pub(super) struct SilentPeer {
    pub(super) public_key: Key,
    /// Where it should be, and what came back from there.
    pub(super) place: Option<(SocketAddr, Probe)>,
    /// Bytes of the peer's that the device took for genuine.
    pub(super) received: u64,
}

/// What comes back from where a peer should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// Nothing listens at the port.
    Refused,
    /// The network says that there is no way.
    Unreachable(String),
    /// Nothing from the port; whether the machine answers a ping.
    Silent { ping: bool },
}

/// One line: who is silent, why that may be, and what to do.
pub(super) fn explain(silence: &Silence) -> String {
    let peers: Vec<String> = silence.peers.iter().map(|it| peer(it, silence.ours)).collect();
    let clock = clock(silence.skew).map(|it| format!("; {it}")).unwrap_or_default();
    format!("failed to reach the tunnel's other side: {}{clock}", peers.join("; "))
}

fn peer(peer: &SilentPeer, ours: Option<Key>) -> String {
    let key = peer.public_key;
    let Some((endpoint, probe)) = &peer.place else {
        return format!("the peer {key} has no `Endpoint`, so this node cannot begin");
    };
    let ours = ours.map(|it| format!(" `{it}`")).unwrap_or_default();
    let port = endpoint.port();
    let cause = match probe {
        Probe::Refused => format!(
            "nothing listens there (the machine refuses UDP port {port}): start WireGuard on the gateway, or correct \
             `Endpoint`"
        ),
        Probe::Unreachable(error) => {
            format!("the network has no way there ({error}): check the subnet's route table, internet gateway or NAT")
        }
        Probe::Silent { .. } if peer.received > 0 => format!(
            "it answered before and does not now: see that no other machine uses this key, and that the gateway still \
             has the peer{ours}"
        ),
        Probe::Silent { ping: true } => format!(
            "its machine answers a ping, so the keys are the first suspect: on the gateway, `wg show` must print the \
             public key `{key}` and list the peer{ours}, and both sides must have the same `PresharedKey` or none; else \
             a firewall drops UDP port {port}"
        ),
        Probe::Silent { ping: false } => format!(
            "its machine answers no ping either, so the way is the first suspect: security group, network ACL, NAT and \
             the gateway's firewall must pass UDP port {port}; else the gateway does not know the peer{ours}"
        ),
    };
    format!("no answer from the peer {key} at {endpoint}: {cause}")
}

fn clock(skew: Option<SignedDuration>) -> Option<String> {
    let behind = skew.filter(|it| *it <= BEHIND)?.as_secs().unsigned_abs();
    Some(format!(
        "this machine's clock is {behind}s behind the provisioner's, and a gateway refuses a handshake that is older \
         than the last one of the same key: let chrony or systemd-timesyncd set the clock"
    ))
}

#[cfg(test)]
mod tests {
    use dynk8s_api::wireguard::Key;
    use jiff::SignedDuration;
    use test_case::test_case;

    use super::{Probe, Silence, SilentPeer, explain};

    const OURS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
    const THEIRS: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    fn said(probe: Option<Probe>, received: u64, skew: Option<i64>) -> String {
        let endpoint = "198.51.100.20:51820".parse().unwrap();
        explain(&Silence {
            ours: Key::from_base64(OURS),
            peers: vec![SilentPeer {
                public_key: Key::from_base64(THEIRS).unwrap(),
                place: probe.map(|it| (endpoint, it)),
                received,
            }],
            skew: skew.map(SignedDuration::from_secs),
        })
    }

    #[test_case(Some(Probe::Refused), 0, &["198.51.100.20:51820", "nothing listens there", "start WireGuard"]; "a closed port")]
    #[test_case(Some(Probe::Unreachable("No route to host".to_owned())), 0, &["No route to host", "route table"]; "no way")]
    #[test_case(Some(Probe::Silent { ping: false }), 0, &["the way is the first suspect", "security group", "UDP port 51820", OURS]; "blocked")]
    #[test_case(Some(Probe::Silent { ping: true }), 0, &["the keys are the first suspect", THEIRS, OURS, "PresharedKey"]; "wrong key")]
    #[test_case(Some(Probe::Silent { ping: true }), 92, &["answered before", "no other machine", OURS]; "a key in two places")]
    #[test_case(None, 0, &[THEIRS, "no `Endpoint`"]; "no endpoint")]
    fn tells_causes_apart(probe: Option<Probe>, received: u64, expected: &[&str]) {
        let text = said(probe, received, None);
        for word in expected {
            assert!(text.contains(word), "{text}");
        }
        assert!(!text.contains("clock"), "{text}");
    }

    #[test_case(None, false; "never heard")]
    #[test_case(Some(0), false; "right")]
    #[test_case(Some(3600), false; "ahead, which no gateway minds")]
    #[test_case(Some(-90), true; "behind")]
    fn suspects_a_clock_that_is_behind(skew: Option<i64>, expected: bool) {
        let text = said(Some(Probe::Silent { ping: true }), 0, skew);
        assert_eq!(text.contains("clock is 90s behind"), expected, "{text}");
    }
}
