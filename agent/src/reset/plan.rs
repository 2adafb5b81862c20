//! How a node is taken apart: which steps, in which order, and when not at all.

use std::fmt;

/// What comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This instance may join again.
    Rejoin,
    /// The disk becomes an image, and other instances boot from it.
    Image,
}

/// What decides about the steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Whether a join left something behind.
    pub(super) joined: bool,
    pub(super) purpose: Purpose,
}

/// A part of the node that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Join,
    Kubelet,
    Claim,
    Names,
    Tunnel,
    RunFolder,
    CloudInit,
    Logs,
    State,
    Identity,
}

/// The steps, in their order: the kubelet goes while it still has names, and the host's resolvers come before the tunnel goes.
pub(super) fn steps(found: Found) -> Vec<Step> {
    let mut steps = Vec::new();
    // Where nothing has joined, kubeadm need not even be installed.
    if found.joined {
        steps.push(Step::Join);
    }
    steps.extend([Step::Kubelet, Step::Claim, Step::Names, Step::Tunnel, Step::RunFolder]);
    if found.purpose == Purpose::Image {
        steps.extend([Step::CloudInit, Step::Logs, Step::State, Step::Identity]);
    }
    steps
}

impl Step {
    /// The step whose success this one needs: what would be lost is needed to try that one again.
    pub(super) fn needs(self) -> Option<Self> {
        match self {
            // They tell what the resolvers of the VPC and the host's own files were.
            Self::RunFolder | Self::State => Some(Self::Names),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Join => "join",
            Self::Kubelet => "kubelet",
            Self::Claim => "claim",
            Self::Names => "names",
            Self::Tunnel => "tunnel",
            Self::RunFolder => "/run/dynk8s",
            Self::CloudInit => "cloud-init",
            Self::Logs => "logs",
            Self::State => "/var/lib/dynk8s",
            Self::Identity => "identity",
        })
    }
}

/// What the person who asked for it does next; the cluster's side is the provisioner's.
pub(super) fn next(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Rejoin => {
            "next: if the Node was Ready once, terminate the instance, and the provisioner deletes the Node and takes the key \
             back; if it never was, `systemctl start dynk8s-agent` joins again"
        }
        Purpose::Image => {
            "next: power off and make the image; terminate the instance, and the provisioner deletes its Node, if it was one, and \
             takes the key back"
        }
    }
}

/// Why nothing may be taken away now, and what to do about it. `unit` is the state of the agent's unit where systemd runs.
pub(super) fn refusal(purpose: Purpose, root: bool, unit: Option<&str>) -> Option<String> {
    let verb = match purpose {
        Purpose::Rejoin => "reset",
        Purpose::Image => "prepare-image",
    };
    if !root {
        return Some(format!(
            "failed to take the node apart: only root may; try `sudo dynk8s-agent {verb}`"
        ));
    }
    match unit {
        None | Some("inactive" | "failed" | "unknown") => None,
        Some(state) => Some(format!(
            "failed to take the node apart: the unit `dynk8s-agent.service` is {state} and would put it together again; run \
             `systemctl stop dynk8s-agent`, then `dynk8s-agent {verb}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Found, Purpose, Step, refusal, steps};

    const RESET: [Step; 6] = [
        Step::Join,
        Step::Kubelet,
        Step::Claim,
        Step::Names,
        Step::Tunnel,
        Step::RunFolder,
    ];
    const IMAGE: [Step; 4] = [Step::CloudInit, Step::Logs, Step::State, Step::Identity];

    #[test_case(true, Purpose::Rejoin, &RESET; "a node")]
    #[test_case(false, Purpose::Rejoin, &RESET[1..]; "a machine that never joined, perhaps without kubeadm")]
    #[test_case(true, Purpose::Image, &[&RESET[..], &IMAGE[..]].concat(); "a node that becomes an image")]
    #[test_case(false, Purpose::Image, &[&RESET[1..], &IMAGE[..]].concat(); "a machine that becomes an image")]
    fn takes_apart(joined: bool, purpose: Purpose, expected: &[Step]) {
        assert_eq!(steps(Found { joined, purpose }), expected);
    }

    #[test]
    fn what_a_step_needs_comes_before_it() {
        let all = steps(Found {
            joined: true,
            purpose: Purpose::Image,
        });
        for (at, step) in all.iter().enumerate() {
            assert!(step.needs().is_none_or(|it| all[..at].contains(&it)), "{step}");
        }
    }

    #[test_case(None, None; "no systemd")]
    #[test_case(Some("inactive"), None; "stopped")]
    #[test_case(Some("failed"), None; "failed for good")]
    #[test_case(Some("active"), Some("systemctl stop dynk8s-agent"); "running")]
    #[test_case(Some("activating"), Some("is activating"); "starting, or about to be started again")]
    #[test_case(Some("deactivating"), Some("is deactivating"); "about to stop")]
    fn does_not_work_against_the_unit(unit: Option<&str>, expected: Option<&str>) {
        for (purpose, verb) in [(Purpose::Rejoin, "reset"), (Purpose::Image, "prepare-image")] {
            let refused = refusal(purpose, true, unit);
            assert_eq!(refused.is_some(), expected.is_some());
            let says = |it: &str| it.contains(expected.unwrap()) && it.contains(verb);
            assert!(refused.is_none_or(|it| says(&it)));
        }
    }

    #[test]
    fn is_roots() {
        assert!(
            refusal(Purpose::Rejoin, false, None)
                .unwrap()
                .contains("sudo dynk8s-agent reset")
        );
    }
}
