//! What becomes of the network: the tunnel and the names.

use std::net::IpAddr;

use super::{Before, Journey, list};
use crate::preview::outline::{Kind, Step};

/// `link` is the interface below, in words; `lines` what would become of the tunnel, where a document is known.
pub(in crate::preview) fn tunnel(
    journey: Journey<'_>,
    link: Result<String, &anyhow::Error>,
    lines: Option<anyhow::Result<Vec<String>>>,
) -> Step {
    let mut step = Step::new("tunnel", journey.settings.deadlines.tunnel);
    step.add_found(link);
    if journey.before == Before::Claimed {
        step.add(
            Kind::Later,
            "whether the next claim brings the same configuration; what follows is made of the last one",
        );
    }
    match lines {
        Some(Ok(lines)) => step.add_all(Kind::Does, lines),
        Some(Err(error)) => step.add_found(Err(&error)),
        None => {
            let text = "makes the interface `dynk8s` as the configuration says (docs/tunnel.md), and keeps outside of it what the machine \
                        needs of the VPC, the endpoint and the provisioner";
            step.add(Kind::Does, text);
            step.add(
                Kind::Later,
                "its addresses, peers, routes, resolvers, and an MTU if one is given",
            );
        }
    }
    step.add(
        Kind::Does,
        "waits until the other side has answered, and takes a smaller MTU if long packets get lost",
    );
    step
}

/// `way` is how the host's names would be set right; `dns` the resolvers that will be the only ones, where they are known.
pub(in crate::preview) fn names(
    journey: Journey<'_>,
    way: anyhow::Result<Vec<String>>,
    dns: Option<&[IpAddr]>,
) -> Step {
    let mut step = Step::new("names", journey.settings.deadlines.names);
    if dns.is_none() {
        step.add(Kind::Later, "which resolvers will be the only ones");
    }
    let servers = dns.map_or_else(|| "each of them".to_owned(), |it| list(it, "nobody"));
    step.add(
        Kind::Does,
        format!("asks {servers} for the API server's name, and the API server for its certificate"),
    );
    step.add(
        Kind::Writes,
        format!(
            "`{}/names.json`: what the host's files are now, for `reset`",
            journey.state
        ),
    );
    step.add(Kind::Writes, "`/etc/dynk8s/resolv.conf`: the kubelet's own");
    match way {
        Ok(lines) => step.add_all(Kind::Does, lines),
        Err(error) => step.add_found(Err(&error)),
    }
    step.add(
        Kind::Does,
        "has the node's own name in `/etc/hosts`, lets the kubelet start, and reads all files back",
    );
    step
}
