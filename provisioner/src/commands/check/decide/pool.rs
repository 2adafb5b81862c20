//! The keys: whether each can be used, and whether there are enough.

use super::Finding;
use crate::commands::check::facts::{Facts, Seen};
use crate::commands::keys::decide::inventory::{Entry, State};
use crate::config::{Config, NodeGroup};
use crate::document;

/// Each document as the agent's own parser reads it.
pub(crate) fn documents(pool: &Seen<Vec<Entry>>) -> Vec<Finding> {
    const CHECK: &str = "keys";
    let pool = match pool {
        Err(why) => return vec![Finding::unseen(CHECK, why)],
        Ok(pool) => pool,
    };
    let mut findings = Vec::new();
    for entry in pool {
        let name = &entry.name;
        findings.extend(entry.problems.iter().map(|problem| {
            let remedy = "mend the Secret, or `keys retire` it and `keys import` or `keys generate` another";
            Finding::failed(CHECK, format!("`{name}`: {problem}"), remedy)
        }));
        if entry.state == State::Unlabelled {
            let remedy = format!("if it is free: `kubectl label secret {name} dynk8s.du5t1n.me/ec2-instance-id=`");
            let found = format!("`{name}` does not say whose it is, so nobody gets it");
            findings.push(Finding::warning(CHECK, found, remedy));
        }
        if entry.state == State::Quarantined {
            let remedy = "read its Worker, terminate the instance, and put another key in its place";
            findings.push(Finding::warning(
                CHECK,
                format!("`{name}` may be in a stranger's hand"),
                remedy,
            ));
        }
        let warnings = entry.document.iter().flat_map(document::warnings);
        findings.extend(warnings.map(|it| Finding::warning(CHECK, format!("`{name}`: {it}"), it.remedy)));
    }
    if findings.is_empty() && !pool.is_empty() {
        findings.push(Finding::ok(
            CHECK,
            format!("all {} are such as an agent accepts", pool.len()),
        ));
    }
    findings
}

/// Each group's pool against the number of its instances.
pub(crate) fn sizes(pool: &[Entry], config: &Config, facts: &Facts) -> Vec<Finding> {
    let sizes = config.node_groups.iter().map(|group| {
        let of_group = |it: &&Entry| group.keys.matches(Some(&it.labels)) && it.problems.is_empty() && !it.retired;
        let labelled = |it: &&Entry| !matches!(it.state, State::Unlabelled | State::Quarantined);
        let usable = pool.iter().filter(of_group).filter(labelled).count();
        let free = pool
            .iter()
            .filter(of_group)
            .filter(|it| it.state == State::Free)
            .count();
        size(&group.name, usable, free, most(group, facts))
    });
    sizes.collect()
}

/// How many instances a group may have: what AWS says, else what the operator said.
fn most(group: &NodeGroup, facts: &Facts) -> Option<usize> {
    let maxima = facts
        .aws
        .iter()
        .flat_map(|it| it.maxima.values())
        .filter_map(|it| it.as_ref().ok());
    let known: Vec<usize> = group
        .auto_scaling_groups
        .iter()
        .filter_map(|name| maxima.clone().find_map(|it| it.get(name).copied()))
        .collect();
    if known.is_empty() {
        facts.most_instances
    } else {
        Some(known.iter().sum())
    }
}

fn size(group: &str, usable: usize, free: usize, most: Option<usize>) -> Finding {
    const CHECK: &str = "pool";
    let have = format!("group `{group}` has {usable} usable keys, {free} of them free");
    let remedy = "make more: `keys generate`, or `keys import`";
    match most {
        _ if usable == 0 => Finding::failed(CHECK, have, remedy),
        Some(most) if usable < most => Finding::failed(CHECK, format!("{have}, and may have {most} instances"), remedy),
        Some(most) if usable == most => {
            let found = format!("{have}, for {most} instances: one that is replaced waits for the cool-down");
            Finding::warning(CHECK, found, remedy)
        }
        Some(most) => Finding::ok(CHECK, format!("{have}, for at most {most} instances")),
        None => Finding::warning(
            CHECK,
            format!("{have}; how many instances it may have, nobody said"),
            "compare with the maximum size of its Auto Scaling group, or say `--max`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::size;
    use crate::commands::check::decide::Outcome;

    #[test_case(0, None, Outcome::Failed; "no key at all")]
    #[test_case(3, None, Outcome::Warning; "nobody knows how many are needed")]
    #[test_case(3, Some(4), Outcome::Failed; "fewer than instances")]
    #[test_case(4, Some(4), Outcome::Warning; "as many as instances")]
    #[test_case(5, Some(4), Outcome::Ok; "more than instances")]
    fn a_pool_outlasts_its_group(usable: usize, most: Option<usize>, expected: Outcome) {
        assert_eq!(size("burst", usable, usable, most).outcome, expected);
    }
}
