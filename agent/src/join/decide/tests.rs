//! Causes, from made-up lines and from real ones.

use std::time::Duration;

use test_case::test_case;

use super::{cause, last_words, with_its_end};

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
    let output =
        lines("[kubelet-check] The kubelet is not healthy after 2m0s\nerror execution phase kubelet-wait-bootstrap");
    let log = lines(
        "I1202 04:05:06.000000    1234 server.go:1] \"Starting\"\n\
         E1202 04:05:06.000000    1234 run.go:72] \"command failed\" err=\"failed to run Kubelet: running with swap on is not supported\"\n\
         kubelet.service: Main process exited",
    );
    let told = cause(&output, last_words(&log)).to_string();
    assert!(
        told.contains("running with swap on is not supported") && told.contains("swapoff --all"),
        "{told}"
    );
    assert!(!told.contains("run.go"), "{told}");
}

/// What a kubeadm of 1.37 has said when its kubelet does not come up.
const STALLED: &str = "[preflight] Running pre-flight checks\n\
    [kubelet-start] Starting the kubelet\n\
    [kubelet-check] Waiting for a healthy kubelet at http://127.0.0.1:10248/healthz. This can take up to 4m0s";

#[test]
fn a_kubeadm_that_stalls_is_explained_by_its_kubelet_or_by_its_own_last_words() {
    let stopped = with_its_end(lines(STALLED), Duration::from_secs(150));
    let log = lines(
        "E1202 04:05:06.000000    1234 run.go:72] \"command failed\" err=\"failed to run Kubelet: running with swap on is not supported\"",
    );
    let told = cause(&stopped, last_words(&log)).to_string();
    assert!(
        told.contains("running with swap on is not supported") && told.contains("swapoff --all"),
        "{told}"
    );
    let told = cause(&stopped, None).to_string();
    assert!(
        told.starts_with(
            "kubeadm did not come to an end within 150 s; its last words: [kubelet-check] Waiting for a healthy"
        ),
        "{told}"
    );
    let told = cause(&with_its_end(Vec::new(), Duration::from_secs(150)), None).to_string();
    assert!(
        told.starts_with("kubeadm did not come to an end within 150 s; it said nothing"),
        "{told}"
    );
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

// What kubeadm 1.37.2 really said.
#[test_case(include_str!("../../../testdata/kubeadm/no-runtime.txt"), "check CRI failed: could not connect", "also failed: ContainerRuntimeVersion, SystemVerification, KubeletVersion (start the container runtime"; "no runtime")]
#[test_case(include_str!("../../../testdata/kubeadm/wrong-token.txt"), "Unauthorized", "(the bootstrap token is not valid any more"; "a spent token")]
#[test_case(include_str!("../../../testdata/kubeadm/wrong-ca.txt"), "unknown authority", "(the API server's certificate is not the cluster CA's"; "another CA")]
#[test_case(include_str!("../../../testdata/kubeadm/wrong-name.txt"), "not 10.9.9.2", "(look at the provisioner's `cluster.server`"; "a name that is not in the certificate")]
#[test_case(include_str!("../../../testdata/kubeadm/refused.txt"), "10.9.9.1:6444", "(nothing listens there"; "another port")]
#[test_case(include_str!("../../../testdata/kubeadm/no-route.txt"), "10.9.9.77:6443", "(check that the API server is reached through the tunnel"; "no way there")]
#[test_case(include_str!("../../../testdata/kubeadm/no-name.txt"), "api.nowhere.example", "(check that the API server is reached"; "a name that nobody knows")]
#[test_case(include_str!("../../../testdata/kubeadm/no-kubelet-config.txt"), "\"kubelet-config\" not found", "upload-config kubelet"; "a cluster without kubelet-config")]
#[test_case(include_str!("../../../testdata/kubeadm/node-ready.txt"), "already exists", "(a Ready Node has this instance's name"; "a Node of the same name")]
#[test_case(include_str!("../../../testdata/kubeadm/no-right-nodes.txt"), "cannot get resource \"nodes\"", "(the bootstrap group lacks a right"; "a right that is missing")]
fn explains_what_was_really_said(transcript: &str, cause_part: &str, remedy: &str) {
    let told = cause(&lines(transcript), None).to_string();
    assert!(told.contains(cause_part) && told.contains(remedy), "{told}");
    assert!(!told.contains('\n'), "{told}");
}

#[test]
fn explains_what_the_kubelet_really_died_of() {
    let output = lines(include_str!("../../../testdata/kubeadm/kubelet-dies.txt"));
    let log = lines(include_str!("../../../testdata/kubeadm/kubelet-dies.kubelet.log"));
    let told = cause(&output, last_words(&log)).to_string();
    assert!(
        told.starts_with("the kubelet did not get healthy: failed to validate kubelet configuration")
            && told.contains("control groups of version 2"),
        "{told}"
    );
}
