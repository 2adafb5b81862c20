//! What no type can say of a node group.

use std::collections::BTreeSet;

use super::super::NodeGroup;
use super::Faults;
use super::node::{label_fault, resource_fault, taint_fault};
use crate::{aws, labels};

/// The longest name of an Auto Scaling group, and the longest parts of a tag (their API references).
const MAX_NAME: usize = 255;
const MAX_TAG_KEY: usize = 128;
const MAX_TAG_VALUE: usize = 256;

pub(super) fn check(faults: &mut Faults, place: &str, group: &NodeGroup, has_credentials: bool) {
    faults.unless(
        !group.name.is_empty() && labels::is_value(&group.name),
        format!("{place}.name"),
        "must be at most 63 letters, digits, `-`, `_` and `.`",
    );
    check_places(faults, place, group);
    check_rules_of_ec2(faults, place, group, has_credentials);
    for (key, value) in &group.labels {
        faults.add(format!("{place}.labels"), label_fault(key, value));
    }
    check_taints(faults, place, group);
    for (name, quantity) in &group.resources {
        faults.add(format!("{place}.resources"), resource_fault(name, quantity));
    }
    for (field, fault) in group.kubelet.faults() {
        faults.add(format!("{place}.kubelet.{field}"), Some(fault));
    }
}

fn check_places(faults: &mut Faults, place: &str, group: &NodeGroup) {
    faults.unless(
        !group.accounts.is_empty(),
        format!("{place}.accounts"),
        "at least one is needed",
    );
    for (at, account) in group.accounts.iter().enumerate() {
        let fault = format!("`{account}` is no account (twelve digits)");
        faults.unless(aws::is_account(account), format!("{place}.accounts[{at}]"), fault);
    }
    faults.unless(
        !group.regions.is_empty(),
        format!("{place}.regions"),
        "at least one is needed",
    );
    for (at, region) in group.regions.iter().enumerate() {
        let fault = format!("`{region}` is no region (such as `eu-central-1`)");
        faults.unless(aws::is_region(region), format!("{place}.regions[{at}]"), fault);
    }
}

fn check_rules_of_ec2(faults: &mut Faults, place: &str, group: &NodeGroup, has_credentials: bool) {
    for (rule, is_set) in [
        ("auto_scaling_groups", !group.auto_scaling_groups.is_empty()),
        ("tags", !group.tags.is_empty()),
        ("from_tags", !group.from_tags.is_empty()),
    ] {
        let fault = "only EC2 can tell, and without the section `[aws]` it is not asked";
        faults.unless(!is_set || has_credentials, format!("{place}.{rule}"), fault);
    }
    let is_text = |text: &str, most: usize| text.chars().count() <= most && !text.chars().any(char::is_control);
    for (at, name) in group.auto_scaling_groups.iter().enumerate() {
        let fault = format!("{name:?} is no name of an Auto Scaling group");
        let right = !name.is_empty() && is_text(name, MAX_NAME);
        faults.unless(right, format!("{place}.auto_scaling_groups[{at}]"), fault);
    }
    for (key, value) in &group.tags {
        let right = !key.is_empty() && is_text(key, MAX_TAG_KEY) && is_text(value, MAX_TAG_VALUE);
        faults.unless(
            right,
            format!("{place}.tags"),
            format!("AWS admits no tag {key:?}={value:?}"),
        );
    }
    for (at, name) in group.from_tags.iter().enumerate() {
        let whole = name
            .strip_suffix('/')
            .map_or_else(|| name.clone(), |it| format!("{it}/x"));
        let fault = format!("`{name}` is neither a domain such as `example.com/` nor a whole name");
        faults.unless(labels::is_key(&whole), format!("{place}.from_tags[{at}]"), fault);
    }
}

fn check_taints(faults: &mut Faults, place: &str, group: &NodeGroup) {
    let mut seen = BTreeSet::new();
    for (at, taint) in group.taints.iter().enumerate() {
        let place = format!("{place}.taints[{at}]");
        faults.add(place.as_str(), taint_fault(taint));
        let first = seen.insert((&taint.key, format!("{:?}", taint.effect)));
        faults.unless(first, place, format!("`{}` has this effect already", taint.key));
    }
}
