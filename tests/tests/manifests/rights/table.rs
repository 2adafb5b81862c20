//! What each account may do, right by right. Whatever is not here it may not.

use crate::stage::Who;

pub(super) struct Right {
    pub(super) who: Who,
    /// Empty if the right is not limited to a namespace.
    pub(super) namespace: &'static str,
    /// Group, resource and, if need be, subresource.
    pub(super) resource: &'static str,
    /// Empty if the right is not limited to an object.
    pub(super) name: &'static str,
    pub(super) verbs: &'static str,
}

const OWN: &str = "dynk8s-system";

pub(super) const RIGHTS: &[Right] = &[
    right(
        Who::Serve,
        OWN,
        "dynk8s.du5t1n.me/workers",
        "",
        "get list watch create patch",
    ),
    right(Who::Serve, OWN, "dynk8s.du5t1n.me/workers/status", "", "get patch"),
    right(Who::Serve, OWN, "/secrets", "", "get create"),
    right(Who::Serve, OWN, "/configmaps", "kube-root-ca.crt", "get"),
    right(
        Who::Reconcile,
        OWN,
        "dynk8s.du5t1n.me/workers",
        "",
        "get list watch create patch delete",
    ),
    right(Who::Reconcile, OWN, "dynk8s.du5t1n.me/workers/status", "", "get patch"),
    right(
        Who::Reconcile,
        OWN,
        "/secrets",
        "",
        "get list watch create update patch delete",
    ),
    right(Who::Reconcile, OWN, "/configmaps", "kube-root-ca.crt", "get"),
    right(Who::Reconcile, OWN, "events.k8s.io/events", "", "create patch"),
    right(Who::Reconcile, "default", "events.k8s.io/events", "", "create patch"),
    right(Who::Reconcile, OWN, "coordination.k8s.io/leases", "", "create"),
    right(
        Who::Reconcile,
        OWN,
        "coordination.k8s.io/leases",
        "dynk8s-provisioner-reconcile",
        "get update",
    ),
    right(
        Who::Reconcile,
        "kube-node-lease",
        "coordination.k8s.io/leases",
        "",
        "get",
    ),
    right(Who::Reconcile, "kube-system", "/secrets", "", "create delete"),
    right(Who::Reconcile, "", "/nodes", "", "get list watch patch delete"),
    right(
        Who::Reconcile,
        "",
        "certificates.k8s.io/certificatesigningrequests",
        "",
        "get list watch",
    ),
    right(
        Who::Reconcile,
        "",
        "certificates.k8s.io/certificatesigningrequests/approval",
        "",
        "update patch",
    ),
    right(
        Who::Reconcile,
        "",
        "certificates.k8s.io/signers",
        "kubernetes.io/kube-apiserver-client-kubelet",
        "approve",
    ),
    right(
        Who::Reconcile,
        "",
        "certificates.k8s.io/signers",
        "kubernetes.io/kubelet-serving",
        "approve",
    ),
    right(
        Who::Reconcile,
        "",
        "authorization.k8s.io/subjectaccessreviews",
        "",
        "create",
    ),
];

const fn right(
    who: Who,
    namespace: &'static str,
    resource: &'static str,
    name: &'static str,
    verbs: &'static str,
) -> Right {
    Right {
        who,
        namespace,
        resource,
        name,
        verbs,
    }
}

/// What would be worst, in words: account, verb, resource and namespace. All of it is asked for, and none of it is granted.
pub(super) const WORST: &[(Who, &str, &str, &str)] = &[
    // The cluster's secrets, which are everybody's identity.
    (Who::Serve, "get", "/secrets", "kube-system"),
    (Who::Serve, "list", "/secrets", "kube-system"),
    (Who::Serve, "list", "/secrets", OWN),
    (Who::Serve, "watch", "/secrets", OWN),
    (Who::Reconcile, "get", "/secrets", "kube-system"),
    (Who::Reconcile, "list", "/secrets", "kube-system"),
    (Who::Reconcile, "watch", "/secrets", "kube-system"),
    (Who::Reconcile, "list", "/secrets", ""),
    (Who::Reconcile, "get", "/secrets", "default"),
    (Who::Reconcile, "get", "/configmaps", "kube-system"),
    (Who::Serve, "create", "/serviceaccounts/token", OWN),
    (Who::Reconcile, "create", "/serviceaccounts/token", OWN),
    (Who::Reconcile, "create", "/serviceaccounts/token", "kube-system"),
    // Secrets that are not ours to change.
    (Who::Serve, "create", "/secrets", "kube-system"),
    (Who::Serve, "delete", "/secrets", "kube-system"),
    (Who::Serve, "patch", "/secrets", OWN),
    (Who::Serve, "update", "/secrets", OWN),
    (Who::Serve, "delete", "/secrets", OWN),
    (Who::Reconcile, "create", "/secrets", "default"),
    (Who::Reconcile, "patch", "/secrets", "kube-system"),
    (Who::Reconcile, "update", "/secrets", "kube-system"),
    (Who::Reconcile, "deletecollection", "/secrets", "kube-system"),
    (Who::Reconcile, "deletecollection", "/secrets", OWN),
    // Other people's machines and pods.
    (Who::Serve, "patch", "/nodes", ""),
    (Who::Serve, "delete", "/nodes", ""),
    (Who::Reconcile, "create", "/nodes", ""),
    (Who::Reconcile, "update", "/nodes", ""),
    (Who::Reconcile, "deletecollection", "/nodes", ""),
    (Who::Reconcile, "patch", "/nodes/status", ""),
    (Who::Reconcile, "get", "/nodes/proxy", ""),
    (Who::Reconcile, "create", "/nodes/proxy", ""),
    (Who::Reconcile, "create", "/pods", "kube-system"),
    (Who::Reconcile, "create", "/pods/exec", "kube-system"),
    (Who::Reconcile, "get", "/pods/exec", "kube-system"),
    (Who::Reconcile, "create", "/pods/eviction", "kube-system"),
    (Who::Reconcile, "get", "/pods/log", OWN),
    (Who::Serve, "create", "/pods", OWN),
    (Who::Serve, "create", "/pods/exec", OWN),
    (Who::Serve, "patch", "apps/deployments", OWN),
    (Who::Reconcile, "patch", "apps/deployments", OWN),
    (Who::Reconcile, "patch", "apps/daemonsets", "kube-system"),
    // Certificates: to ask in one's own name, to sign, to remove.
    (
        Who::Serve,
        "update",
        "certificates.k8s.io/certificatesigningrequests/approval",
        "",
    ),
    (
        Who::Serve,
        "create",
        "certificates.k8s.io/certificatesigningrequests",
        "",
    ),
    (
        Who::Reconcile,
        "create",
        "certificates.k8s.io/certificatesigningrequests",
        "",
    ),
    (
        Who::Reconcile,
        "update",
        "certificates.k8s.io/certificatesigningrequests/status",
        "",
    ),
    (
        Who::Reconcile,
        "delete",
        "certificates.k8s.io/certificatesigningrequests",
        "",
    ),
    // More rights than one has.
    (
        Who::Reconcile,
        "create",
        "rbac.authorization.k8s.io/clusterrolebindings",
        "",
    ),
    (Who::Reconcile, "patch", "rbac.authorization.k8s.io/clusterroles", ""),
    (Who::Reconcile, "create", "rbac.authorization.k8s.io/rolebindings", OWN),
    (Who::Reconcile, "patch", "rbac.authorization.k8s.io/roles", OWN),
    (Who::Serve, "create", "rbac.authorization.k8s.io/rolebindings", OWN),
    (Who::Serve, "create", "authorization.k8s.io/subjectaccessreviews", ""),
    // What holds both to all of this.
    (
        Who::Reconcile,
        "delete",
        "admissionregistration.k8s.io/validatingadmissionpolicies",
        "",
    ),
    (
        Who::Reconcile,
        "patch",
        "admissionregistration.k8s.io/validatingadmissionpolicybindings",
        "",
    ),
    (
        Who::Reconcile,
        "create",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "",
    ),
    (
        Who::Reconcile,
        "patch",
        "apiextensions.k8s.io/customresourcedefinitions",
        "",
    ),
    (
        Who::Serve,
        "delete",
        "apiextensions.k8s.io/customresourcedefinitions",
        "",
    ),
    (Who::Reconcile, "delete", "/namespaces", ""),
    (Who::Reconcile, "patch", "/namespaces", ""),
    // Workers and Leases that are not its own.
    (Who::Serve, "delete", "dynk8s.du5t1n.me/workers", OWN),
    (Who::Serve, "get", "dynk8s.du5t1n.me/workers", "default"),
    (Who::Reconcile, "update", "dynk8s.du5t1n.me/workers/status", OWN),
    (Who::Reconcile, "deletecollection", "dynk8s.du5t1n.me/workers", OWN),
    (Who::Reconcile, "delete", "dynk8s.du5t1n.me/workers", "default"),
    (Who::Reconcile, "update", "coordination.k8s.io/leases", OWN),
    (Who::Reconcile, "update", "coordination.k8s.io/leases", "kube-system"),
    (Who::Reconcile, "patch", "coordination.k8s.io/leases", "kube-node-lease"),
    (
        Who::Reconcile,
        "delete",
        "coordination.k8s.io/leases",
        "kube-node-lease",
    ),
    (Who::Reconcile, "list", "coordination.k8s.io/leases", "kube-node-lease"),
    (Who::Serve, "create", "coordination.k8s.io/leases", OWN),
];
