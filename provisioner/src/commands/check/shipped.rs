//! What we ship for a cluster, read from the manifests themselves: rights, and the policies that narrow them down.

use anyhow::Context as _;
use serde_json::Value;

use crate::names::TOKEN_GROUP;

/// The namespace that the manifests are written for.
const NAMESPACE: &str = "dynk8s-system";

macro_rules! manifests {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("../../../../packaging/kubernetes/base/", $name))),*]
    };
}

const MANIFESTS: [&str; 10] = manifests![
    "serve.rights.yaml",
    "reconcile.rights.yaml",
    "token-group.rights.yaml",
    "serve.policy.yaml",
    "worker.policy.yaml",
    "token.policy.yaml",
    "key.policy.yaml",
    "node.policy.yaml",
    "certificate.policy.yaml",
    "startup-taint.policy.yaml",
];

/// The objects of the manifests, for the namespace that they are used in.
#[derive(Debug)]
pub(crate) struct Shipped {
    objects: Vec<Value>,
    namespace: String,
}

/// Something that somebody may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) who: Who,
    pub(crate) verb: String,
    pub(crate) group: String,
    /// `pods` or `pods/exec`.
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    /// None: the whole cluster.
    pub(crate) namespace: Option<String>,
}

/// Whose right it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A `ServiceAccount` of our namespace.
    Account { namespace: String, name: String },
    /// Whoever holds a bootstrap token of ours.
    Token,
}

impl Shipped {
    pub(crate) fn new(namespace: &str) -> anyhow::Result<Self> {
        let mut objects = Vec::new();
        for manifest in MANIFESTS {
            let text = manifest.replace(NAMESPACE, namespace);
            let parsed: Vec<Value> = serde_saphyr::from_multiple(&text).context("failed to read our own manifests")?;
            objects.extend(parsed);
        }
        Ok(Self {
            objects,
            namespace: namespace.to_owned(),
        })
    }

    /// The policies and their bindings.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Value> {
        let is_policy = |it: &&Value| {
            it["kind"]
                .as_str()
                .is_some_and(|it| it.starts_with("ValidatingAdmissionPolicy"))
        };
        self.objects.iter().filter(is_policy)
    }

    /// Every right that our roles give to somebody.
    pub(crate) fn needed(&self) -> Vec<Right> {
        let mut rights = needed_by_tokens();
        for binding in self.objects.iter().filter(|it| !it["roleRef"].is_null()) {
            for subject in elements(&binding["subjects"]).filter(|it| it["kind"] == "ServiceAccount") {
                let who = self.account(&text(&subject["name"]));
                let role = self.objects.iter().find(|it| {
                    it["kind"] == binding["roleRef"]["kind"]
                        && it["metadata"]["name"] == binding["roleRef"]["name"]
                        && it["metadata"]["namespace"] == binding["metadata"]["namespace"]
                });
                let namespace = binding["metadata"]["namespace"].as_str();
                let rules = role.into_iter().flat_map(|it| elements(&it["rules"]));
                rights.extend(rules.flat_map(|rule| of_rule(&who, rule, namespace)));
            }
        }
        rights
    }

    /// What would be worth stealing an account for.
    pub(crate) fn forbidden(&self) -> Vec<Right> {
        let serve = self.account("dynk8s-provisioner-serve");
        let reconcile = self.account("dynk8s-provisioner-reconcile");
        let (system, own) = (Some("kube-system"), Some(self.namespace.as_str()));
        let csr = "certificates.k8s.io";
        let mut forbidden = Vec::new();
        for who in [&serve, &reconcile, &Who::Token] {
            for verb in ["get", "list", "watch", "patch"] {
                forbidden.push(right(who, verb, "", "secrets", None, system));
            }
            forbidden.push(right(who, "create", "", "pods", None, None));
            forbidden.push(right(who, "create", "", "pods/exec", None, None));
            forbidden.push(right(who, "create", "", "serviceaccounts/token", None, system));
            forbidden.push(right(who, "create", "", "nodes/proxy", None, None));
            forbidden.push(right(who, "impersonate", "", "users", None, None));
            forbidden.push(right(who, "sign", csr, "signers", None, None));
            forbidden.push(right(
                who,
                "approve",
                csr,
                "signers",
                Some("kubernetes.io/kube-apiserver-client"),
                None,
            ));
            for verb in ["create", "bind", "escalate"] {
                forbidden.push(right(
                    who,
                    verb,
                    "rbac.authorization.k8s.io",
                    "clusterroles",
                    None,
                    None,
                ));
            }
            let bindings = "clusterrolebindings";
            forbidden.push(right(who, "create", "rbac.authorization.k8s.io", bindings, None, None));
        }
        for who in [&serve, &Who::Token] {
            forbidden.push(right(who, "create", "", "secrets", None, system));
            forbidden.push(right(who, "delete", "", "nodes", None, None));
            forbidden.push(right(
                who,
                "update",
                csr,
                "certificatesigningrequests/approval",
                None,
                None,
            ));
        }
        forbidden.push(right(&serve, "list", "", "secrets", None, own));
        forbidden.push(right(&serve, "delete", "", "secrets", None, own));
        forbidden.push(right(&Who::Token, "get", "", "secrets", None, own));
        forbidden.push(right(&Who::Token, "create", "", "nodes", None, None));
        forbidden
    }

    fn account(&self, name: &str) -> Who {
        Who::Account {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

impl Right {
    /// As `kubectl auth can-i` would be asked.
    pub(crate) fn describe(&self) -> String {
        let of = if self.group.is_empty() {
            String::new()
        } else {
            format!(".{}", self.group)
        };
        let named = self.name.as_ref().map_or_else(String::new, |it| format!(" `{it}`"));
        let place = self
            .namespace
            .as_ref()
            .map_or_else(String::new, |it| format!(" in `{it}`"));
        format!("{} {}{of}{named}{place}", self.verb, self.resource)
    }
}

impl Who {
    /// Users and groups as the API server knows them.
    pub(crate) fn identity(&self) -> (String, Vec<String>) {
        let all = "system:authenticated".to_owned();
        match self {
            Self::Account { namespace, name } => (
                format!("system:serviceaccount:{namespace}:{name}"),
                vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                    all,
                ],
            ),
            Self::Token => (
                "system:bootstrap:dynk8s".to_owned(),
                vec!["system:bootstrappers".to_owned(), TOKEN_GROUP.to_owned(), all],
            ),
        }
    }

    /// What an operator calls it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Account { name, .. } => format!("`{name}`"),
            Self::Token => format!("group `{TOKEN_GROUP}`"),
        }
    }
}

/// What `kubeadm join` does with a bootstrap token.
fn needed_by_tokens() -> Vec<Right> {
    let requests = "certificatesigningrequests";
    let configs = ["kubeadm-config", "kubelet-config", "kube-proxy"];
    let configs = configs.map(|it| right(&Who::Token, "get", "", "configmaps", Some(it), Some("kube-system")));
    let others = [
        right(&Who::Token, "create", "certificates.k8s.io", requests, None, None),
        right(&Who::Token, "get", "certificates.k8s.io", requests, None, None),
        right(&Who::Token, "get", "", "nodes", None, None),
    ];
    configs.into_iter().chain(others).collect()
}

fn of_rule(who: &Who, rule: &Value, namespace: Option<&str>) -> Vec<Right> {
    let names: Vec<Option<&Value>> = match elements(&rule["resourceNames"]).map(Some).collect::<Vec<_>>() {
        names if names.is_empty() => vec![None],
        names => names,
    };
    let mut rights = Vec::new();
    for group in elements(&rule["apiGroups"]) {
        for resource in elements(&rule["resources"]) {
            for verb in elements(&rule["verbs"]) {
                rights.extend(names.iter().map(|name| Right {
                    who: who.clone(),
                    verb: text(verb),
                    group: text(group),
                    resource: text(resource),
                    name: name.map(text),
                    namespace: namespace.map(str::to_owned),
                }));
            }
        }
    }
    rights
}

fn right(who: &Who, verb: &str, group: &str, resource: &str, name: Option<&str>, namespace: Option<&str>) -> Right {
    Right {
        who: who.clone(),
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.map(str::to_owned),
        namespace: namespace.map(str::to_owned),
    }
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt as _;

    use super::{MANIFESTS, Shipped};
    use crate::worker::Worker;

    #[test]
    fn every_shipped_right_and_policy_is_looked_at() {
        let kustomization = include_str!("../../../../packaging/kubernetes/base/kustomization.yaml");
        let listed = |ending: &str| kustomization.lines().filter(|it| it.ends_with(ending)).count();
        assert_eq!(listed(".rights.yaml") + listed(".policy.yaml"), MANIFESTS.len());
        let shipped = Shipped::new("dynk8s-system").unwrap();
        assert_eq!(shipped.policies().count(), 2 * listed(".policy.yaml"));
    }

    #[test]
    fn the_policy_of_workers_speaks_of_each_field_of_a_spec() {
        let definition = serde_json::to_value(Worker::crd()).unwrap();
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let policy = include_str!("../../../../packaging/kubernetes/base/worker.policy.yaml");
        let fields: Vec<&String> = spec["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields.len(), 3);
        assert!(
            fields.iter().all(|it| policy.contains(&format!("oldObject.spec.{it}"))
                || policy.contains(&format!("oldObject.spec.?{it}")))
        );
    }

    #[test]
    fn the_rights_are_those_of_the_manifests() {
        let needed = Shipped::new("elsewhere").unwrap().needed();
        let has = |text: &str| {
            needed
                .iter()
                .any(|it| format!("{}: {}", it.who.describe(), it.describe()) == text)
        };
        assert!(
            has("`dynk8s-provisioner-serve`: get configmaps `kube-root-ca.crt` in `elsewhere`"),
            "{needed:?}"
        );
        assert!(has("`dynk8s-provisioner-reconcile`: create secrets in `kube-system`"));
        assert!(has("`dynk8s-provisioner-reconcile`: delete nodes"));
        assert!(has(
            "group `system:bootstrappers:dynk8s:node`: create certificatesigningrequests.certificates.k8s.io"
        ));
    }

    #[test]
    fn nothing_that_is_needed_is_forbidden() {
        let shipped = Shipped::new("dynk8s-system").unwrap();
        let needed = shipped.needed();
        assert!(shipped.forbidden().iter().all(|it| !needed.contains(it)));
    }
}
