//! Objects of the cluster: the definition of Workers, policies, approvals, and the configuration.

use std::time::Duration;

use serde_json::Value;

use super::likeness::differences;
use super::{Finding, listed};
use crate::commands::check::facts::Seen;
use crate::config::Times;
use crate::names::TOKEN_GROUP;

pub(crate) fn definition(ours: &Value, theirs: &Seen<Option<Value>>) -> Finding {
    const CHECK: &str = "definition";
    let remedy = "apply it with the rights of a cluster's administrator: `dynk8s-provisioner crd | kubectl apply \
                  --server-side --force-conflicts -f -`";
    let name = ours["metadata"]["name"].as_str().unwrap_or_default();
    let theirs = match theirs {
        Err(why) => return Finding::unseen(CHECK, why),
        Ok(None) => return Finding::failed(CHECK, format!("`{name}` is not there"), remedy),
        Ok(Some(theirs)) => theirs,
    };
    let mut found = Vec::new();
    for field in ["group", "scope", "names", "versions"] {
        let inside = differences(&ours["spec"][field], &theirs["spec"][field]);
        found.extend(inside.iter().map(|it| format!("`{field}{it}`")));
    }
    if found.is_empty() {
        return Finding::ok(CHECK, format!("`{name}` is that of this version"));
    }
    let found = format!("`{name}` is of another version; it differs in {}", listed(&found));
    Finding::failed(CHECK, found, remedy)
}

pub(crate) fn policy(ours: &Value, theirs: &Seen<Option<Value>>) -> Finding {
    const CHECK: &str = "policy";
    let remedy =
        "apply the manifests again: `kubectl apply --server-side --force-conflicts -k packaging/kubernetes/base`";
    let name = ours["metadata"]["name"].as_str().unwrap_or_default();
    let kind = if ours["kind"] == "ValidatingAdmissionPolicy" {
        "policy"
    } else {
        "binding of the policy"
    };
    let theirs = match theirs {
        Err(why) => return Finding::unseen(CHECK, why),
        Ok(None) => return Finding::failed(CHECK, format!("the {kind} `{name}` is not there"), remedy),
        Ok(Some(theirs)) => theirs,
    };
    let found = differences(&ours["spec"], &theirs["spec"]);
    let found: Vec<String> = found
        .iter()
        .map(|it| format!("`{}`", it.trim_start_matches('.')))
        .collect();
    if !found.is_empty() {
        let found = format!(
            "the {kind} `{name}` is not the one we ship; it differs in {}",
            listed(&found)
        );
        return Finding::failed(CHECK, found, remedy);
    }
    let warnings = theirs["status"]["typeChecking"]["expressionWarnings"].as_array();
    if warnings.is_some_and(|it| !it.is_empty()) {
        let found = format!("the cluster does not understand all of the {kind} `{name}`, and refuses what it is about");
        return Finding::failed(
            CHECK,
            found,
            format!("look at `kubectl describe validatingadmissionpolicy {name}`"),
        );
    }
    Finding::ok(CHECK, format!("the {kind} `{name}` is the one we ship"))
}

pub(crate) fn automatic_approval(reason: &Seen<Option<String>>) -> Finding {
    const CHECK: &str = "approvals";
    match reason {
        Err(why) => Finding::unseen(CHECK, why),
        Ok(None) => Finding::ok(CHECK, "nobody approves the certificates of our tokens but `reconcile`"),
        Ok(Some(reason)) => Finding::failed(
            CHECK,
            format!(
                "the cluster approves the requests of any token by itself, so that each could become any node ({reason})"
            ),
            format!(
                "in the ClusterRoleBinding to `system:certificates.k8s.io:certificatesigningrequests:nodeclient` put \
                 `system:bootstrappers:kubeadm:default-node-token` in the place of `{TOKEN_GROUP}`, `system:bootstrappers` or \
                 `system:authenticated`"
            ),
        ),
    }
}

/// A session of WireGuard's lives so long, and whoever has its keys still speaks in the name of the address.
const SESSION: Duration = Duration::from_mins(3);

/// Tests want a key back sooner than anybody should; so it is no fault of the configuration.
pub(crate) fn cooldown(times: &Times) -> Option<Finding> {
    let cooldown = times.key_cooldown;
    (cooldown <= SESSION).then(|| {
        Finding::warning(
            "cool-down",
            format!(
                "a key rests for {cooldown:?}, and a session of WireGuard lives {SESSION:?}: the next instance could get a \
                 key that the gateway still takes the one before for"
            ),
            "set `times.key_cooldown_seconds` to more than 180; 240 is the default",
        )
    })
}

pub(crate) fn config(fault: Option<&String>) -> Finding {
    const CHECK: &str = "configuration";
    match fault {
        None => Finding::ok(CHECK, "it is accepted"),
        Some(fault) => Finding::failed(
            CHECK,
            fault.as_str(),
            "mend it; `dynk8s-provisioner config check --config FILE` looks at a file of yours",
        ),
    }
}
