//! What a request asks of the API server, in a bounded number of words.

use axum::http::{Method, Uri};

/// The resources that we ask for; everything else is `other`.
const RESOURCES: [&str; 13] = [
    "certificatesigningrequests",
    "clusterrolebindings",
    "configmaps",
    "events",
    "leases",
    "nodes",
    "readyz",
    "secrets",
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
    "validatingadmissionpolicies",
    "version",
    "workers",
];

/// A verb of Kubernetes and a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) verb: &'static str,
    pub(super) resource: &'static str,
}

impl Call {
    /// Reads `/api/<version>/...` and `/apis/<group>/<version>/...`.
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let mut words = uri.path().split('/').skip(1);
        let mut next = words.next();
        let mut is_named = false;
        match next {
            Some("api") => next = words.nth(1),
            Some("apis") => next = words.nth(2),
            _ => is_named = true,
        }
        if next == Some("namespaces") {
            next = words.nth(1);
        }
        let resource = RESOURCES.into_iter().find(|it| Some(*it) == next).unwrap_or("other");
        is_named |= words.next().is_some();
        Self {
            verb: verb(method, is_named, uri.query().unwrap_or_default()),
            resource,
        }
    }
}

fn verb(method: &Method, is_named: bool, query: &str) -> &'static str {
    match *method {
        Method::GET if is_named => "get",
        Method::GET if query.split('&').any(|it| it == "watch=true" || it == "watch=1") => "watch",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("GET", "/api/v1/nodes/i-0123abcd?", "get", "nodes")]
    #[test_case("GET", "/api/v1/nodes?resourceVersion=0&limit=500", "list", "nodes")]
    #[test_case("GET", "/api/v1/nodes?&watch=true&timeoutSeconds=290", "watch", "nodes")]
    #[test_case(
        "DELETE",
        "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef",
        "delete",
        "secrets"
    )]
    #[test_case("POST", "/apis/events.k8s.io/v1/namespaces/default/events?", "create", "events")]
    #[test_case(
        "PATCH",
        "/apis/dynk8s.du5t1n.me/v1alpha1/namespaces/dynk8s-system/workers/i-0123abcd/status?",
        "patch",
        "workers"
    )]
    #[test_case(
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/dynk8s-system/leases/loop",
        "update",
        "leases"
    )]
    #[test_case("GET", "/version", "get", "version")]
    #[test_case("GET", "/api/v1/namespaces/secrets", "list", "other"; "a namespace of a resource's name")]
    #[test_case("GET", "/apis/group/v1/i-0123abcd/nodes", "get", "other"; "a resource that we do not know")]
    #[test_case("TRACE", "/", "other", "other"; "nothing")]
    fn is_named_in_known_words(method: &str, uri: &str, verb: &str, resource: &str) {
        let call = Call::of(&method.parse().unwrap(), &uri.parse().unwrap());
        assert_eq!((call.verb, call.resource), (verb, resource));
    }
}
