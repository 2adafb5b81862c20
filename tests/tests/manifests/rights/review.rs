//! What the API server lists when somebody asks what he may do.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::table::Right;
use crate::stage::{Stage, Who, file};

/// An account without any right but those that each account of a cluster has.
pub(super) const NO_MORE_THAN_OTHERS: &str = "--as=system:serviceaccount:dynk8s-system:default";

/// A verb; a group with its resource, or a path; and the name of an object or nothing.
pub(super) type Rule = (String, String, String);

impl Right {
    pub(super) fn rules(&self) -> impl Iterator<Item = Rule> {
        let rule = |verb: &str| (verb.to_owned(), self.resource.to_owned(), self.name.to_owned());
        self.verbs.split(' ').map(rule)
    }
}

pub(super) fn of(stage: &Stage, who: Who, namespace: &str, flag: &str) -> anyhow::Result<BTreeSet<Rule>> {
    let question = file(&json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }))?;
    let answer = stage.allowed(who, &format!("create --validate=false -o json -f {question} {flag}"))?;
    let answer: Value = serde_json::from_str(&answer)?;
    let status = &answer["status"];
    let mut rules = BTreeSet::new();
    for rule in status["resourceRules"].as_array().context("no rules")? {
        let mut names = words(&rule["resourceNames"]);
        if names.is_empty() {
            names.push(String::new());
        }
        let resources = words(&rule["resources"]);
        let of_group = |group: String| resources.iter().map(move |it| format!("{group}/{it}"));
        let resources = words(&rule["apiGroups"]).into_iter().flat_map(of_group).collect();
        rules.extend(product(&words(&rule["verbs"]), resources, &names));
    }
    for rule in status["nonResourceRules"].as_array().into_iter().flatten() {
        let paths = words(&rule["nonResourceURLs"]);
        rules.extend(product(&words(&rule["verbs"]), paths, &[String::new()]));
    }
    Ok(rules)
}

fn product(verbs: &[String], resources: Vec<String>, names: &[String]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for resource in resources {
        for verb in verbs {
            rules.extend(names.iter().map(|it| (verb.clone(), resource.clone(), it.clone())));
        }
    }
    rules
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().into_iter().flatten();
    words.filter_map(|it| it.as_str().map(str::to_owned)).collect()
}
