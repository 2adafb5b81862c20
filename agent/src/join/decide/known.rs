//! What kubeadm and the kubelet are known to say, and what to do about it. Each was seen (Kubernetes 1.37); what a later
//! release words differently is still quoted, only without its remedy.

const REACH: &str =
    "check that the API server is reached through the tunnel (`AllowedIPs`, the way back), and the tunnel's MTU";
const SERVER: &str = "look at the provisioner's `cluster.server` and at the API server's certificate";
const RIGHTS: &str =
    "the bootstrap group lacks a right: apply the provisioner's manifests, and compare kubeadm's own roles";
const LEFT_OVERS: &str =
    "an earlier join left files behind: stop the agent's unit, and `dynk8s-agent reset` removes them";
const PACKAGES: &str = "install kubelet and kubeadm of the same minor release in the image";

/// What turns swap off for good.
pub(in crate::join) const SWAP: &str = "turn it off in the image: `swapoff --all`, and an empty /etc/systemd/zram-generator.conf where zram is \
                                        used; or let agent.toml say swap = \"keep\"";

/// kubeadm's preflight checks by the beginning of their names, as `ignorePreflightErrors` takes them.
pub(super) const CHECKS: &[(&str, &str)] = &[
    (
        "CRI",
        "start the container runtime, and compare its socket with `cri_socket` in agent.toml",
    ),
    ("ContainerRuntimeVersion", "install a newer container runtime"),
    ("Swap", SWAP),
    (
        "Port-10250",
        "something listens on the kubelet's port: stop it in the image",
    ),
    ("FileAvailable", LEFT_OVERS),
    ("DirAvailable", LEFT_OVERS),
    ("KubeletVersion", PACKAGES),
    ("IsPrivilegedUser", "run the agent as root"),
    (
        "SystemVerification",
        "the kernel or its control groups lack what a kubelet needs: use another image",
    ),
    (
        "FileContent",
        "set the kernel parameter that it names in the image, by /etc/sysctl.d",
    ),
    ("FileExisting", "install the program that it names in the image"),
    ("Service-Kubelet", "install the kubelet's unit"),
];

/// What kubeadm ends with, the more telling before the more general.
pub(super) const PHRASES: &[(&str, &str)] = &[
    (
        "Unauthorized",
        "the bootstrap token is not valid any more: the provisioner makes another one for the next try",
    ),
    (
        "certificate signed by unknown authority",
        "the API server's certificate is not the cluster CA's: look at the provisioner's `cluster.server`, and for who else answers there",
    ),
    ("certificate is valid for", SERVER),
    (
        "certificate has expired or is not yet valid",
        "compare this machine's clock with the API server's, then its certificate",
    ),
    (
        "already exists in the cluster",
        "a Ready Node has this instance's name: delete it if it is stale",
    ),
    (
        "no such host",
        "the on-premises resolver does not know the API server's name",
    ),
    (
        "connection refused",
        "nothing listens there: is the API server up, and is it this port?",
    ),
    ("no route to host", REACH),
    ("network is unreachable", REACH),
    ("is forbidden", RIGHTS),
    (
        "\"kubelet-config\" not found",
        "the cluster lacks what kubeadm uploads: `kubeadm init phase upload-config kubelet` on a control plane",
    ),
    (
        "waiting for TLS bootstrap",
        "the kubelet's certificate was not approved: look at the CertificateSigningRequests and at the provisioner's log",
    ),
    ("couldn't validate the identity of the API Server", REACH),
    ("timed out waiting for the condition", REACH),
];

/// What the kubelet dies of, which kubeadm only sees as silence.
pub(super) const KUBELET: &[(&str, &str)] = &[
    ("running with swap on is not supported", SWAP),
    (
        "unable to load client CA file",
        "the cluster's kubelet-config names a CA file that nodes do not have: set clientCAFile to /etc/kubernetes/pki/ca.crt",
    ),
    (
        "cgroup v1",
        "boot with control groups of version 2, without `systemd.unified_cgroup_hierarchy=0`",
    ),
    (
        "cgroup driver",
        "give kubelet and container runtime the same cgroup driver",
    ),
    (
        "unknown 'kubernetes.io' or 'k8s.io' labels",
        "the node group has labels that a kubelet may not set: remove them",
    ),
    (
        "failed to parse kubelet flag",
        "the kubelet does not know a flag: compare its version with kubeadm's",
    ),
    ("node-ip", "the tunnel's address is not on an interface of this machine"),
];
