//! What the journey comes to on a machine that looks like this. It follows `bootstrap`, step by step.

mod host;
mod network;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use super::outline::{Kind, Step};
use crate::config::{CredentialsOf, OnFailure, Settings};
use crate::facts::Facts;

pub(super) use host::{Host, join};
pub(super) use network::{Resolvers, names, tunnel};

/// How far this machine came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing was handed out to it.
    New,
    /// It has what an earlier claim brought, and has not joined.
    Claimed,
    /// It is a node, to be brought back.
    Joined,
}

/// What all steps have to do with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey<'a> {
    pub(super) settings: &'a Settings,
    pub(super) before: Before,
    /// Which instance this is, where that is known.
    pub(super) facts: Option<&'a Facts>,
    /// Where its files are.
    pub(super) state: &'a str,
}

/// What was found before the first step.
#[derive(Clone, Debug)]
pub(super) struct Start<'a> {
    pub(super) root: bool,
    /// The state of the agent's unit, where systemd runs.
    pub(super) unit: Option<&'a str>,
    pub(super) has_keys: bool,
    pub(super) error: Option<&'a anyhow::Error>,
}

/// What the claim depends on.
#[derive(Debug)]
pub(super) struct Way<'a> {
    /// Where the provisioner, or the proxy before it, is; and whom that was asked.
    pub(super) addresses: &'a anyhow::Result<Vec<IpAddr>>,
    pub(super) resolvers: &'a anyhow::Result<Vec<IpAddr>>,
    pub(super) proxy: Option<&'a str>,
    /// Whether an earlier join left something behind.
    pub(super) left_overs: bool,
}

pub(super) fn facts(journey: Journey<'_>, start: &Start<'_>) -> Step {
    let mut step = Step::new("facts", journey.settings.deadlines.facts);
    if !start.root {
        let text =
            "this is not root, who alone can read what an earlier claim brought and what the tunnel's interface is";
        step.add(Kind::Doubtful, text);
    }
    if let Some(unit) = start.unit.filter(|it| !["inactive", "failed", "unknown"].contains(it)) {
        let text =
            format!("the unit is {unit}, and a second agent would be refused: this is what its next start would do");
        step.add(Kind::Doubtful, text);
    }
    match (journey.facts, start.error) {
        (Some(facts), _) => known(&mut step, facts),
        (None, Some(error)) => step.add_found(Err(error)),
        (None, None) => {}
    }
    step.add(
        Kind::Does,
        "reads it again from the metadata service (version 2 only), patiently",
    );
    let keys = format!("`{0}/claim.key` and `{0}/kubelet.key`", journey.state);
    if start.has_keys {
        step.add(Kind::Sees, format!("{keys} are there and are used again"));
    } else {
        step.add(Kind::Writes, format!("{keys}, drawn here and never shown"));
    }
    step.add(
        Kind::Writes,
        "`/run/dynk8s/timeline.json` for `status`, `/run/dynk8s/lock`, and `/run/dynk8s/uplink.json`, the VPC's resolvers, until the \
         next boot",
    );
    step
}

fn known(step: &mut Step, facts: &Facts) {
    let lifecycle = facts.lifecycle.as_deref().unwrap_or("of unknown lifecycle");
    let Facts {
        id,
        instance_type,
        zone,
        account,
        ..
    } = facts;
    step.add(
        Kind::Sees,
        format!("{id} is a {instance_type} in {zone}, {lifecycle}, of account {account}"),
    );
    let address = facts
        .address
        .map_or_else(|| "no IPv4 address".to_owned(), |it| it.to_string());
    step.add(
        Kind::Sees,
        format!(
            "{address} in the VPC, whose networks are {}",
            list(&facts.vpc, "not told")
        ),
    );
    if facts.signed.is_none() {
        let text = "there is no signed identity document: a provisioner that asks for both proofs will refuse";
        step.add(Kind::Doubtful, text);
    }
}

pub(super) fn claim(journey: Journey<'_>, way: &Way<'_>) -> Step {
    let settings = journey.settings;
    let mut step = Step::new("claim", settings.deadlines.claim);
    if journey.before == Before::Joined {
        step.add(
            Kind::Sees,
            "this machine has joined before: nobody is asked, and what was handed out is used again",
        );
        return step;
    }
    if way.left_overs {
        step.add(
            Kind::Does,
            "takes back what an earlier join left behind (`kubeadm reset`), and asks for a new generation",
        );
        step.add(
            Kind::Writes,
            format!("`{}/reset`, the generation that is spent", journey.state),
        );
    }
    let by = way
        .proxy
        .map_or_else(|| "directly".to_owned(), |it| format!("through the proxy {it}"));
    let (provisioner, key) = (&settings.provisioner, &settings.provisioner_key);
    step.add(
        Kind::Does,
        format!("asks {provisioner} {by}, and believes only the key {key}"),
    );
    match (way.addresses, way.resolvers) {
        (Ok(addresses), Ok(resolvers)) => {
            let (addresses, resolvers) = (list(addresses, "nowhere"), list(resolvers, "nobody"));
            let whose = if way.proxy.is_some() { "the proxy's" } else { "its" };
            let text = format!("{whose} name leads to {addresses}, by the VPC's resolver {resolvers}");
            step.add(Kind::Sees, text);
        }
        (Err(error), _) | (_, Err(error)) => step.add(
            Kind::Doubtful,
            format!("{error:#}; it is tried again until the deadline"),
        ),
    }
    let file = settings
        .ca_file
        .as_ref()
        .map(|it| format!(" and those of `{}`", it.display()));
    step.add(
        Kind::Does,
        format!("trusts the system's certificates{}", file.unwrap_or_default()),
    );
    step.add(
        Kind::Does,
        format!(
            "proves itself by {}, and by the signed identity document",
            proof(settings.credentials)
        ),
    );
    let files = ["wireguard.conf", "cluster.json", "generation"].map(|it| format!("`{}/{it}`", journey.state));
    step.add(Kind::Writes, files.join(", "));
    let text = "the key's WireGuard configuration, the API server, its CA and its version, the token, and the node group's labels, taints \
                and kubelet settings";
    step.add(Kind::Later, text);
    step
}

fn proof(credentials: CredentialsOf) -> &'static str {
    match credentials {
        CredentialsOf::IdentityRole => "STS, with the credentials of the instance identity role",
        CredentialsOf::InstanceProfile => "STS, with the credentials of the instance profile's role",
    }
}

pub(super) fn ready(journey: Journey<'_>) -> Step {
    let settings = journey.settings;
    let mut step = Step::new("ready", settings.deadlines.ready);
    step.add(
        Kind::Does,
        "waits until the Node is Ready, and reports to the provisioner",
    );
    let spot = journey.facts.is_some_and(Facts::is_spot);
    let evicts = if settings.drain { " and evicts its pods" } else { "" };
    let spot = if spot {
        format!(", and on a notice of AWS cordons the Node{evicts}")
    } else {
        String::new()
    };
    step.add(
        Kind::Does,
        format!("then stays: follows the endpoint, keeps the names right{spot}"),
    );
    let failure = match settings.on_failure {
        OnFailure::PowerOff if journey.before != Before::Joined => "powers off",
        OnFailure::None | OnFailure::PowerOff => "stays as it is, and systemd starts the journey again",
    };
    step.add(Kind::Does, format!("a machine whose journey fails for good {failure}"));
    step
}

fn list<T: ToString>(items: &[T], none: &str) -> String {
    match items {
        [] => none.to_owned(),
        items => items.iter().map(T::to_string).collect::<Vec<_>>().join(", "),
    }
}
