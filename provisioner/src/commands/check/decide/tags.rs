//! What the autoscaler predicts from a group's tags, against what the node becomes and what a kubelet may say of itself.

use std::collections::BTreeMap;

use dynk8s_api::claim::TaintEffect;
use jiff::Timestamp;

use super::Finding;
use crate::commands::check::facts::Aws;
use crate::config::{Config, NodeGroup, Settings, TEMPLATE};
use crate::worker::{Described, State};

const CHECK: &str = "tags";

type Tags = BTreeMap<String, String>;

pub(crate) fn groups(config: &Config, aws: Option<&Aws>) -> Vec<Finding> {
    config
        .node_groups
        .iter()
        .flat_map(|group| of_group(group, aws))
        .collect()
}

fn of_group(group: &NodeGroup, aws: Option<&Aws>) -> Vec<Finding> {
    let name = &group.name;
    let predicted = !group.labels.is_empty() || !group.taints.is_empty() || !group.resources.is_empty();
    let Some(aws) = aws.filter(|_| !group.auto_scaling_groups.is_empty()) else {
        if !predicted {
            return Vec::new();
        }
        let found = format!(
            "the tags of group `{name}` were not looked at: no AWS credentials, or no Auto Scaling group named"
        );
        let remedy = format!(
            "to scale from zero the autoscaler needs `{TEMPLATE}label/<name>` and `{TEMPLATE}taint/<name>` for each label and \
             taint of the group"
        );
        return vec![Finding::warning(CHECK, found, remedy)];
    };
    let mut findings = Vec::new();
    for scaling in &group.auto_scaling_groups {
        let failure = aws.tags.values().find_map(|it| it.as_ref().err());
        match (aws.tags.values().flatten().find_map(|it| it.get(scaling)), failure) {
            (Some(tags), _) => findings.extend(compare(group, scaling, tags)),
            (None, Some(why)) => {
                let remedy = "allow `autoscaling:DescribeTags` to these credentials";
                let found = format!("the tags of `{scaling}` could not be looked at: {why}");
                findings.push(Finding::failed(CHECK, found, remedy));
            }
            (None, None) => findings.extend(compare(group, scaling, &Tags::new())),
        }
    }
    findings
}

/// One Auto Scaling group: what its tags say that no node will be, and what a node will be that no tag says.
pub(crate) fn compare(group: &NodeGroup, scaling: &str, tags: &Tags) -> Vec<Finding> {
    let template: Tags = tags
        .iter()
        .filter_map(|(tag, value)| Some((tag.strip_prefix(TEMPLATE)?.to_owned(), value.clone())))
        .collect();
    let becomes = Settings::of(group, Some(&described(template.clone())));
    let mut findings: Vec<Finding> = becomes
        .refused
        .iter()
        .map(|it| {
            Finding::failed(
                CHECK,
                format!("`{scaling}`: {it}"),
                "correct the tag; no node gets it as it is",
            )
        })
        .collect();
    let expected = expected(&becomes);
    for (tag, value) in &expected {
        if template.get(tag) != Some(value) {
            let found = format!("`{scaling}` has no tag `{TEMPLATE}{tag}` with the value `{value}`");
            let remedy = "add it, or the autoscaler may not start a node for pods that need it";
            findings.push(Finding::warning(CHECK, found, remedy));
        }
    }
    let kinds = ["label/", "taint/"];
    let foreign = template
        .iter()
        .filter(|(tag, value)| kinds.iter().any(|it| tag.starts_with(it)) && expected.get(*tag) != Some(*value));
    for (tag, _) in foreign {
        let found = format!("the tag `{TEMPLATE}{tag}` of `{scaling}` promises what its nodes do not become");
        let remedy = "add it to the group's labels or taints, or allow it by `from_tags`; or remove the tag";
        findings.push(Finding::failed(CHECK, found, remedy));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(
            CHECK,
            format!("those of `{scaling}` predict what its nodes become"),
        ));
    }
    findings
}

/// The tags that predict a node exactly.
fn expected(becomes: &Settings) -> Tags {
    let labels = becomes
        .labels
        .iter()
        .map(|(name, value)| (format!("label/{name}"), value.clone()));
    let taints = becomes.taints.iter().map(|it| {
        let effect = match it.effect {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
        };
        (format!("taint/{}", it.key), format!("{}:{effect}", it.value))
    });
    let resources = becomes
        .resources
        .iter()
        .map(|(name, value)| (format!("resources/{name}"), value.clone()));
    labels.chain(taints).chain(resources).collect()
}

/// An instance of which nothing but the group's tags matters.
fn described(template: Tags) -> Described {
    Described {
        state: State::Running,
        account: String::new(),
        region: String::new(),
        instance_type: String::new(),
        zone: String::new(),
        auto_scaling_group: None,
        tags: Tags::new(),
        template,
        time: Timestamp::UNIX_EPOCH,
    }
}
