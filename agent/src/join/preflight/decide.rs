//! What is wrong with a machine that is to join, and what can be done about it here and now.

use std::fmt;

use super::super::decide::SWAP;

/// What the machine shows of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The swap areas in use.
    pub(crate) swap: Vec<String>,
    /// Whether the configuration lets the kubelet run with swap.
    pub(crate) keep_swap: bool,
    /// Whether the control groups are of version 2.
    pub(crate) cgroup_v2: bool,
    /// Kernel parameters for forwarding that are off.
    pub(crate) not_forwarding: Vec<&'static str>,
    /// Whether something listens where the kubelet will.
    pub(crate) port_taken: bool,
    /// Container runtimes that answer.
    pub(crate) runtimes: Vec<String>,
    /// The one that is used.
    pub(crate) runtime: String,
    /// The configurations of container networks, by file name.
    pub(crate) networks: Vec<String>,
    /// The kubelet's version, as kubeadm tells it.
    pub(crate) kubelet: String,
}

/// What is done before the join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// Turns all swap off.
    SwapOff(Vec<String>),
    /// Sets a kernel parameter to 1.
    Forward(&'static str),
    /// Renames a network's configuration, so that no runtime reads it.
    SetAside(String),
}

/// One thing that a person may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It can be put right here.
    Mendable(Mend),
    /// It may be meant so.
    Doubtful(String),
    /// A kubelet would not live.
    Fatal(String),
}

/// The kubelet's own port.
pub(crate) const KUBELET_PORT: u16 = 10250;

/// The first kubelet that refuses control groups of version 1 (Kubernetes 1.35, "failCgroupV1").
const CGROUP_V2_ONLY: u32 = 35;

/// Networks that packages of cri-o bring: its own bridge sorts before what a cluster installs, and wins.
const FOREIGN: &[&str] = &[
    "100-crio-bridge.conf",
    "100-crio-bridge.conflist",
    "10-crio-bridge.conf",
    "10-crio-bridge.conflist",
    "11-crio-ipv4-bridge.conflist",
    "200-loopback.conf",
    "200-loopback.conflist",
];

/// Judges.
pub(crate) fn findings(seen: &Seen) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !seen.cgroup_v2 {
        findings.push(control_groups(&seen.kubelet));
    }
    if seen.port_taken {
        findings.push(Finding::Fatal(format!(
            "something listens on the kubelet's port {KUBELET_PORT} already; `ss -ltnp sport = :{KUBELET_PORT}` names it: stop it, or \
             remove it from the image"
        )));
    }
    let undone = undone_by_boot(&seen.swap, seen.keep_swap, &seen.not_forwarding);
    findings.extend(undone.into_iter().map(Finding::Mendable));
    let others: Vec<&str> = seen
        .runtimes
        .iter()
        .filter(|it| **it != seen.runtime)
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        findings.push(Finding::Doubtful(format!(
            "another container runtime runs (`{}`); the kubelet uses `{}`: name the right one by `cri_socket` in agent.toml, and stop the \
             other",
            others.join("`, `"),
            seen.runtime
        )));
    }
    findings.extend(seen.networks.iter().map(|it| network(it)));
    findings
}

/// What is not as a node needs it, and is so again after each boot until the image is mended.
pub(crate) fn undone_by_boot(swap: &[String], keep_swap: bool, not_forwarding: &[&'static str]) -> Vec<Mend> {
    let mut mends = Vec::new();
    if !swap.is_empty() && !keep_swap {
        mends.push(Mend::SwapOff(swap.to_vec()));
    }
    mends.extend(not_forwarding.iter().copied().map(Mend::Forward));
    mends
}

fn control_groups(kubelet: &str) -> Finding {
    let text = "control groups are of version 1; boot without `systemd.unified_cgroup_hierarchy=0`".to_owned();
    match super::super::plan::minor(kubelet) {
        Some((1, minor)) if minor < CGROUP_V2_ONLY => Finding::Doubtful(text),
        _ => Finding::Fatal(format!("{text}, for this kubelet ({kubelet}) starts on version 2 only")),
    }
}

fn network(name: &str) -> Finding {
    if FOREIGN.contains(&name) {
        Finding::Mendable(Mend::SetAside(name.to_owned()))
    } else {
        Finding::Doubtful(format!(
            "the image brings the container network `/etc/cni/net.d/{name}`; if it is not the cluster's own, remove it: the first in \
             order wins"
        ))
    }
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwapOff(areas) => write!(
                f,
                "swap is on (`{}`), of which a kubelet dies; {SWAP}",
                areas.join("`, `")
            ),
            Self::Forward(parameter) => write!(
                f,
                "`{parameter}` is 0, and pods of other nodes would not be reached; set it to 1 by /etc/sysctl.d in the image"
            ),
            Self::SetAside(name) => write!(
                f,
                "`/etc/cni/net.d/{name}` came with a package and would win over the cluster's own network; remove it from the image"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Finding, Mend, Seen, findings};

    fn healthy() -> Seen {
        let runtime = "unix:///run/containerd/containerd.sock".to_owned();
        Seen {
            swap: Vec::new(),
            keep_swap: false,
            cgroup_v2: true,
            not_forwarding: Vec::new(),
            port_taken: false,
            runtimes: vec![runtime.clone()],
            runtime,
            networks: Vec::new(),
            kubelet: "v1.37.2".to_owned(),
        }
    }

    #[test]
    fn finds_nothing_where_nothing_is_wrong() {
        assert_eq!(findings(&healthy()), []);
    }

    #[test]
    fn turns_swap_off_unless_it_is_to_be_kept() {
        let mut seen = healthy();
        seen.swap = vec!["/dev/zram0".to_owned()];
        assert_eq!(findings(&seen), [Finding::Mendable(Mend::SwapOff(seen.swap.clone()))]);
        seen.keep_swap = true;
        assert_eq!(findings(&seen), []);
    }

    #[test_case("v1.37.2", true; "a current kubelet dies of it")]
    #[test_case("v1.35.0", true; "the first that refuses it")]
    #[test_case("v1.34.9", false; "the last that warns")]
    #[test_case("nonsense", true; "an unknown version is not trusted")]
    fn control_groups_of_version_1(kubelet: &str, fatal: bool) {
        let mut seen = healthy();
        seen.cgroup_v2 = false;
        seen.kubelet = kubelet.to_owned();
        let found = findings(&seen);
        assert_eq!(matches!(found[..], [Finding::Fatal(_)]), fatal, "{found:?}");
    }

    #[test]
    fn the_kubelets_port_must_be_free() {
        let mut seen = healthy();
        seen.port_taken = true;
        assert!(matches!(&findings(&seen)[..], [Finding::Fatal(text)] if text.contains("10250")));
    }

    #[test]
    fn forwards_packets() {
        let mut seen = healthy();
        seen.not_forwarding = vec!["net.ipv4.ip_forward"];
        assert_eq!(
            findings(&seen),
            [Finding::Mendable(Mend::Forward("net.ipv4.ip_forward"))]
        );
    }

    #[test]
    fn names_the_runtime_that_is_not_used() {
        let mut seen = healthy();
        seen.runtimes.push("unix:///var/run/crio/crio.sock".to_owned());
        assert!(matches!(&findings(&seen)[..], [Finding::Doubtful(text)] if text.contains("crio.sock`)")));
    }

    #[test]
    fn sets_aside_what_packages_bring_and_only_names_the_rest() {
        let mut seen = healthy();
        seen.networks = vec!["100-crio-bridge.conflist".to_owned(), "10-calico.conflist".to_owned()];
        assert!(matches!(&findings(&seen)[..],
            [Finding::Mendable(Mend::SetAside(name)), Finding::Doubtful(text)]
            if name == "100-crio-bridge.conflist" && text.contains("10-calico.conflist")));
    }
}
