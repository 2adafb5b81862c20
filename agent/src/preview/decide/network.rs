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

/// The host's names, and the resolvers that will be the only ones.
#[derive(Debug)]
pub(in crate::preview) struct Resolvers<'a> {
    /// How the names would be set right.
    pub(in crate::preview) way: anyhow::Result<Vec<String>>,
    /// Whom the document names, where there is one.
    pub(in crate::preview) servers: Option<&'a [IpAddr]>,
    /// Whether all files name them alone.
    pub(in crate::preview) are_alone: bool,
}

pub(in crate::preview) fn names(journey: Journey<'_>, resolvers: Resolvers<'_>) -> Step {
    let Resolvers {
        way,
        servers,
        are_alone,
    } = resolvers;
    let mut step = Step::new("names", journey.settings.deadlines.names);
    if servers.is_none() {
        step.add(Kind::Later, "which resolvers will be the only ones");
    }
    let asked = servers.map_or_else(|| "each of them".to_owned(), |it| list(it, "nobody"));
    step.add(
        Kind::Does,
        format!("asks {asked} for the API server's name, and the API server for its certificate"),
    );
    step.add(
        Kind::Writes,
        format!(
            "`{}/names.json`: what the host's files are now, for `reset`",
            journey.state
        ),
    );
    step.add(Kind::Writes, "`/etc/dynk8s/resolv.conf`: the kubelet's own");
    if are_alone {
        step.add(
            Kind::Sees,
            "all resolver files name them alone, and what is right is left as it is",
        );
    }
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
