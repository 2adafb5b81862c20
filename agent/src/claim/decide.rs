//! What an error of a claim means: whether to ask again, and what a person can do about it.

use std::time::Duration;

use dynk8s_api::problem::{Kind, Reason};

use super::client::Error;
use crate::retry::Next;

/// Obeys the kind of a refusal; everything that is no refusal of the provisioner's may pass.
pub(super) fn next(error: &Error) -> Next {
    let again = |wish: &Option<Duration>| wish.map_or(Next::Again, Next::After);
    match error {
        Error::Refused {
            problem, retry_after, ..
        } => match problem.kind() {
            Some(Kind::GiveUp) => Next::Never,
            Some(Kind::WaitForOperator) => Next::Slowly,
            Some(Kind::TryAgain) | None => again(retry_after),
        },
        Error::Foreign { retry_after, .. } => again(retry_after),
        Error::Unreachable { .. } | Error::Altered(_) | Error::Credentials(_) | Error::Proof(_) => Next::Again,
        Error::Request => Next::Never,
    }
}

/// An error and its causes in one line.
pub(super) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// What a person can do.
pub(super) fn remedy(error: &Error) -> &'static str {
    match error {
        Error::Unreachable { source, .. } if is_certificate(source) => {
            "its certificate does not verify: check that the name leads to the provisioner, and name a private CA by \
             `ca_file` in agent.toml"
        }
        Error::Unreachable { .. } => {
            "check that the name resolves in the VPC, and that security group, route and NAT let TCP 443 out"
        }
        Error::Foreign { .. } => "look at the ingress in front of the provisioner, and whether the provisioner runs",
        Error::Altered(_) => {
            "compare `provisioner_key` in agent.toml with what `dynk8s-provisioner key` prints, and look at what stands \
             between them"
        }
        Error::Credentials(_) | Error::Proof(_) => {
            "the metadata service must hand out the credentials of the role that `credentials` in agent.toml names"
        }
        Error::Request => "`provisioner_key` in agent.toml is no usable key",
        Error::Refused { problem, .. } => refusal(problem.reason()),
    }
}

fn refusal(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::NotAnnounced) => "check the EventBridge rule and the SNS subscription that announce instances",
        Some(Reason::PoolEmpty) => "add a WireGuard key Secret",
        Some(Reason::NotEligible) => "add a node group that wants this instance, or terminate it",
        Some(Reason::Malformed) => "agent and provisioner are of releases that do not fit",
        Some(Reason::NotProven) => "check the clock, the region and the account that the provisioner lists",
        Some(Reason::AnotherKey) => {
            "another process on this instance claimed first, or its disk was replaced: look at the Worker's events, then \
             terminate the instance"
        }
        Some(Reason::Gone) => "this instance is known as terminated; start another one",
        Some(Reason::AlreadyJoined) => "its Node is Ready; terminate the instance, and the group replaces it",
        Some(Reason::NotYet | Reason::Busy | Reason::Unavailable) | None => "look at the provisioner's log",
    }
}

/// Whether a connection failed over the certificate.
fn is_certificate(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref() {
        return true;
    }
    // An I/O error hands out the source of its inner error, and hides that one itself.
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    inner.is_some_and(|it| is_certificate(it)) || error.source().is_some_and(is_certificate)
}
