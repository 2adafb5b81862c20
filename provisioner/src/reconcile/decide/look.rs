//! The look at a node from the cluster's side: whether its kubelet answers on the tunnel, with the right certificate.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

use super::{Draft, elapsed};
use crate::config::Look;

/// Why pods must stay away: a reason and a sentence.
pub(super) type Obstacle = (&'static str, String);

/// The kubelet's own port, should the Node name none.
const KUBELET_PORT: u16 = 10250;
/// How long what was seen counts.
const FRESH: Duration = Duration::from_mins(1);
/// How long a kubelet may be silent before anybody is told: it gets its certificate only after it has come up.
const QUIET: Duration = Duration::from_mins(1);
/// The longest pause between two looks.
const LAST_PAUSE: Duration = Duration::from_mins(1);

/// Where the kubelet of this very Node is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) uid: String,
    pub(crate) at: SocketAddr,
}

/// What one look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// A certificate of the cluster's CA for the node's name and address.
    Right,
    /// Nobody speaks TLS there.
    Silence(String),
    /// The kubelet has no certificate to show.
    NoCertificate,
    WrongCertificate(String),
    /// The cluster's CA is not known.
    NoAuthority(String),
}

/// What is known of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) target: Target,
    /// When it was looked at first.
    pub(crate) since: Timestamp,
    pub(crate) times: u32,
    /// Whether somebody is looking now.
    pub(crate) under_way: bool,
    pub(crate) last: Option<(Timestamp, Sight)>,
}

/// What is to be done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Looking {
    /// Nothing; what is known may be forgotten.
    #[default]
    Needless,
    /// Nothing for now.
    Later,
    Now(Target),
}

impl Target {
    pub(crate) fn of(node: &Node, address: IpAddr) -> Self {
        let endpoints = node.status.as_ref().and_then(|it| it.daemon_endpoints.as_ref());
        let port = endpoints.and_then(|it| it.kubelet_endpoint.as_ref()).map(|it| it.port);
        let port = port.and_then(|it| u16::try_from(it).ok()).filter(|it| *it != 0);
        Self {
            uid: node.metadata.uid.clone().unwrap_or_default(),
            at: SocketAddr::new(address, port.unwrap_or(KUBELET_PORT)),
        }
    }
}

/// Why pods must stay away as far as the look goes, and whether to look now.
pub(super) fn obstacle(draft: &mut Draft<'_>, node: &Node, address: IpAddr) -> Option<Obstacle> {
    if draft.case.config.cluster.look == Look::Off {
        return None;
    }
    let target = Target::of(node, address);
    let seen = draft.case.observed.seen.as_ref().filter(|it| it.target == target);
    let age = |at: Timestamp| elapsed(at, draft.case.now);
    let last = seen.and_then(|it| it.last.as_ref());
    if matches!(last, Some((at, Sight::Right)) if age(*at) < FRESH) {
        draft.looking = Looking::Later;
        return None;
    }
    let obstacle = obstacle_of(&target, seen, draft.case.now);
    let pause = match (seen, last) {
        (Some(seen), _) if seen.under_way => None,
        (Some(seen), Some((at, _))) => Some(pause(seen.times).saturating_sub(age(*at))),
        _ => Some(Duration::ZERO),
    };
    draft.looking = match pause {
        Some(Duration::ZERO) => Looking::Now(target),
        _ => Looking::Later,
    };
    if let Some(pause) = pause.filter(|it| !it.is_zero()) {
        draft.look_again_in(pause);
    }
    Some(obstacle)
}

/// One second first, then twice as long each time.
fn pause(times: u32) -> Duration {
    let seconds = 1_u64.checked_shl(times.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(seconds).min(LAST_PAUSE)
}

fn obstacle_of(target: &Target, seen: Option<&Seen>, now: Timestamp) -> Obstacle {
    let at = target.at;
    let last = seen.and_then(|it| it.last.as_ref()).map(|(_, sight)| sight);
    let is_quiet = seen.is_none_or(|it| elapsed(it.since, now) < QUIET);
    match last {
        Some(Sight::WrongCertificate(why)) => {
            let message = format!(
                "what answers at {at} shows no certificate of the cluster's CA for the node's name and address ({why}); look who \
                 answers there, and whether the kubelet has `serverTLSBootstrap: true`"
            );
            ("WrongCertificate", message)
        }
        Some(sight) if !is_quiet => ("NotOnTunnel", lasting(sight, at)),
        _ => ("Looking", format!("looks for the kubelet at {at}")),
    }
}

fn lasting(sight: &Sight, at: SocketAddr) -> String {
    match sight {
        Sight::NoCertificate => format!(
            "the kubelet at {at} has no serving certificate; look for its request with `kubectl get csr`, and at the kubelet's \
             log on the node"
        ),
        Sight::NoAuthority(why) => format!(
            "failed to learn the cluster's CA from the ConfigMap `kube-root-ca.crt` ({why}), and so to look at the kubelet at {at}"
        ),
        Sight::Silence(why) => format!(
            "the kubelet does not answer at {at} ({why}); give the hosts and pods of the cluster a route to {} through the \
             WireGuard gateway, and let TCP port {} in on the node; or, if they shall not reach nodes, set `cluster.look` to `off`",
            at.ip(),
            at.port()
        ),
        Sight::Right | Sight::WrongCertificate(_) => format!("looks for the kubelet at {at}"),
    }
}
