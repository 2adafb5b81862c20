//! Why a join failed, in a sentence, and what to do about it: told from what kubeadm and the kubelet said.

use std::fmt;

/// A cause and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    cause: String,
    remedy: &'static str,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.cause, self.remedy)
    }
}

/// kubeadm's preflight checks by their names, as `ignorePreflightErrors` takes them.
const CHECKS: &[(&str, &str)] = &[
    (
        "CRI",
        "start the container runtime, and compare its socket with `cri_socket` in agent.toml",
    ),
    ("Swap", SWAP),
    (
        "Port-10250",
        "something listens on the kubelet's port: stop it in the image",
    ),
    (
        "FileAvailable",
        "an earlier join left files behind: `kubeadm reset -f` removes them",
    ),
    (
        "DirAvailable",
        "an earlier join left files behind: `kubeadm reset -f` removes them",
    ),
    (
        "KubeletVersion",
        "install kubelet and kubeadm of the same minor release",
    ),
    ("IsPrivilegedUser", "run the agent as root"),
    (
        "SystemVerification",
        "the kernel lacks what a kubelet needs: use another image",
    ),
    (
        "FileContent",
        "set the kernel parameter that it names in the image, by /etc/sysctl.d",
    ),
    ("FileExisting", "install the program that it names in the image"),
    ("Service-Kubelet", "install the kubelet's unit"),
];

/// What kubeadm says beside its checks.
const PHRASES: &[(&str, &str)] = &[
    ("couldn't validate the identity of the API Server", REACH),
    ("failed to request the cluster-info ConfigMap", REACH),
    (
        "no such host",
        "the on-premises resolver does not know the API server's name",
    ),
    (
        "certificate signed by unknown authority",
        "the API server's certificate is not the cluster CA's: look at the provisioner's `cluster`",
    ),
    (
        "certificate is valid for",
        "the API server's certificate does not name the address that nodes use: add it to certSANs",
    ),
    (
        "certificate has expired or is not yet valid",
        "compare both clocks, and the API server's certificate",
    ),
    (
        "already exists in the cluster",
        "a Ready Node has this instance's name: delete it if it is stale",
    ),
    (
        "Unauthorized",
        "the bootstrap token is not valid any more: the provisioner makes another one for the next try",
    ),
    (
        "forbidden",
        "the bootstrap group lacks a right: apply the provisioner's manifests",
    ),
    (
        "waiting for TLS bootstrap",
        "the kubelet's certificate was not approved: look at the CertificateSigningRequests and at the provisioner's log",
    ),
    ("timed out waiting for the condition", REACH),
];

const REACH: &str = "check that the API server is reached through the tunnel, and the tunnel's MTU";
pub(super) const SWAP: &str = "turn swap off in the image: `swapoff -a`, and an empty /etc/systemd/zram-generator.conf where zram is used, or set \
                    failSwapOn to false in the cluster's kubelet configuration";

/// What the kubelet dies of, which kubeadm only sees as silence.
const KUBELET: &[(&str, &str)] = &[
    ("running with swap on is not supported", SWAP),
    (
        "unable to load client CA file",
        "the cluster's kubelet-config names a CA file that nodes do not have: set clientCAFile to /etc/kubernetes/pki/ca.crt",
    ),
    ("cgroup v1", "boot with cgroup v2, which current kubelets require"),
    (
        "cgroup driver",
        "give kubelet and container runtime the same cgroup driver",
    ),
    (
        "unknown 'kubernetes.io' or 'k8s.io' labels",
        "the node group has labels that a kubelet may not set: remove them",
    ),
    ("node-ip", "the tunnel's address is not on an interface of this machine"),
];

/// Tells the cause from kubeadm's last lines and, where the kubelet did not get healthy, from its own last words.
pub(crate) fn cause(lines: &[String], kubelet: Option<&str>) -> Cause {
    if let Some((line, check)) = lines.iter().rev().find_map(|line| Some((line, check_name(line)?))) {
        let remedy = CHECKS.iter().find(|(name, _)| check.starts_with(name));
        return Cause {
            cause: format!(
                "kubeadm's check {}",
                line.trim().trim_start_matches("[ERROR ").replacen("]:", " failed:", 1)
            ),
            remedy: remedy.map_or("see `kubeadm join --help` for the check", |(_, remedy)| remedy),
        };
    }
    let healthy = lines.iter().any(|it| it.contains("The kubelet is healthy"));
    let silent = !healthy && lines.iter().any(|it| is_unhealthy_kubelet(it));
    if let Some(words) = kubelet.filter(|_| silent) {
        let remedy = KUBELET.iter().find(|(phrase, _)| words.contains(phrase));
        return Cause {
            cause: format!("the kubelet did not get healthy: {words}"),
            remedy: remedy.map_or("see `journalctl -u kubelet`", |(_, remedy)| remedy),
        };
    }
    for line in lines.iter().rev() {
        if let Some((_, remedy)) = PHRASES.iter().find(|(phrase, _)| line.contains(phrase)) {
            return Cause {
                cause: line.trim().to_owned(),
                remedy,
            };
        }
    }
    let last = lines
        .iter()
        .rev()
        .map(|it| it.trim())
        .find(|it| !it.is_empty() && !is_advice(it));
    Cause {
        cause: last.unwrap_or("kubeadm said nothing").to_owned(),
        remedy: "see the journal of dynk8s-agent and of the kubelet",
    }
}

/// The last line of the kubelet's log by which it says why it ends.
pub(crate) fn last_words(log: &[String]) -> Option<&str> {
    let fatal = |line: &&String| {
        line.contains("command failed") || line.contains("failed to run Kubelet") || line.starts_with('F')
    };
    let error = |line: &&String| line.starts_with('E') || line.contains("\"Failed");
    let found = log.iter().rev().find(fatal).or_else(|| log.iter().rev().find(error))?;
    // After klog's header: `E1202 04:05:06.000000    1234 run.go:72] `
    Some(found.split_once("] ").map_or(found.as_str(), |(_, words)| words))
}

fn check_name(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("[ERROR ")?;
    rest.split_once(']').map(|(name, _)| name)
}

fn is_unhealthy_kubelet(line: &str) -> bool {
    [
        "kubelet is not healthy",
        "kubelet isn't running",
        "127.0.0.1:10248/healthz",
        "waiting for TLS bootstrap",
    ]
    .iter()
    .any(|it| line.contains(it))
}

fn is_advice(line: &str) -> bool {
    line.starts_with("To see the stack trace")
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{cause, last_words};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test_case("[preflight] Some fatal errors occurred:\n\t[ERROR CRI]: could not connect to the container runtime\n[preflight] If you know",
        "kubeadm's check CRI failed: could not connect to the container runtime (start the container runtime"; "no runtime")]
    #[test_case("\t[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: /etc/kubernetes/kubelet.conf already exists",
        "FileAvailable--etc-kubernetes-kubelet.conf failed: /etc/kubernetes/kubelet.conf already exists (an earlier join"; "left-overs")]
    #[test_case("\t[ERROR Novel]: something new", "kubeadm's check Novel failed: something new (see `kubeadm"; "a check of a later release")]
    #[test_case("error execution phase preflight: couldn't validate the identity of the API Server: timed out\nTo see the stack trace of this error execute with --v=5 or higher",
        "couldn't validate the identity of the API Server: timed out (check that the API server"; "no way to the server")]
    #[test_case("error execution phase kubelet-start: a Node with name \"i-1\" and status \"Ready\" already exists in the cluster",
        "already exists in the cluster (a Ready Node"; "a Node of the same name")]
    #[test_case("error: Unauthorized", "Unauthorized (the bootstrap token"; "a token that has expired")]
    #[test_case("x\nsomething else\n\nTo see the stack trace of this error", "something else (see the journal"; "anything else")]
    #[test_case("", "kubeadm said nothing"; "silence")]
    fn tells_the_cause(output: &str, expected: &str) {
        let told = cause(&lines(output), None).to_string();
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn quotes_the_kubelet_that_did_not_get_healthy() {
        let output = lines(
            "[kubelet-check] The kubelet is not healthy after 2m0s\nerror execution phase kubelet-wait-bootstrap",
        );
        let log = lines(
            "I1202 04:05:06.000000    1234 server.go:1] \"Starting\"\n\
             E1202 04:05:06.000000    1234 run.go:72] \"command failed\" err=\"failed to run Kubelet: running with swap on is not supported\"\n\
             kubelet.service: Main process exited",
        );
        let told = cause(&output, last_words(&log)).to_string();
        assert!(
            told.contains("running with swap on is not supported") && told.contains("swapoff -a"),
            "{told}"
        );
        assert!(!told.contains("run.go"), "{told}");
    }

    #[test]
    fn does_not_blame_a_healthy_kubelet_that_waits_for_its_certificate() {
        let output = lines(
            "[kubelet-check] The kubelet is healthy after 5s\n\
             error: error execution phase kubelet-wait-bootstrap: failed while waiting for TLS bootstrap: context deadline exceeded",
        );
        let told = cause(&output, Some("Unable to register mirror pod")).to_string();
        assert!(
            told.contains("TLS bootstrap") && told.contains("CertificateSigningRequests"),
            "{told}"
        );
    }

    #[test]
    fn does_not_blame_the_kubelet_for_what_came_before_it() {
        let told = cause(&lines("error: Unauthorized"), Some("command failed")).to_string();
        assert!(told.contains("Unauthorized"), "{told}");
    }
}
