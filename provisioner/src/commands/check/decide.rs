//! What to think of what was seen: one finding or more for each check, in the order in which to mend them.

pub(crate) mod aws;
pub(crate) mod cluster;
mod likeness;
pub(crate) mod network;
pub(crate) mod pool;
pub(crate) mod reach;
pub(crate) mod rights;
pub(crate) mod tags;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::facts::Facts;

/// So many of a long list are named.
const NAMED: usize = 3;

/// What one check came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    #[serde(rename = "result")]
    pub(crate) outcome: Outcome,
    pub(crate) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Ok,
    /// It may be meant so, or could not be looked at.
    Warning,
    /// A node will not join, or a stranger may.
    Failed,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        })
    }
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            outcome: Outcome::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            check,
            outcome: Outcome::Warning,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn failed(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            check,
            outcome: Outcome::Failed,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// What could not be seen is not known to be well.
    fn unseen(check: &'static str, why: &str) -> Self {
        let remedy = "run `check` with rights to read this, and a connection to the cluster";
        Self::failed(check, format!("could not be looked at: {why}"), remedy)
    }
}

/// Decides about everything.
pub(crate) fn evaluate(facts: &Facts) -> Vec<Finding> {
    let config = facts.config.as_ref();
    let mut findings = vec![cluster::definition(&facts.definition.0, &facts.definition.1)];
    findings.extend(rights::needed(&facts.needed));
    findings.extend(rights::forbidden(&facts.forbidden));
    findings.extend(
        facts
            .policies
            .iter()
            .map(|(shipped, live)| cluster::policy(shipped, live)),
    );
    findings.push(cluster::automatic_approval(&facts.automatic_approval));
    findings.push(cluster::config(config.err()));
    findings.extend(facts.server.as_ref().map(reach::server));
    findings.extend(facts.sts.iter().map(|(region, probe)| reach::sts(region, probe)));
    findings.extend(facts.public.iter().flat_map(reach::public));
    findings.extend(pool::documents(&facts.pool));
    if let Ok(pool) = &facts.pool {
        findings.extend(network::overlaps(pool, &facts.networks, config.ok()));
        findings.extend(config.iter().flat_map(|it| pool::sizes(pool, it, facts)));
    }
    if let Ok(config) = config {
        findings.extend(cluster::cooldown(&config.times));
        findings.extend(aws::topics(config, facts.aws.as_ref()));
        findings.extend(tags::groups(config, facts.aws.as_ref()));
    }
    findings
}

/// The first of them, and how many more there are.
fn listed(items: &[String]) -> String {
    let named = items
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match items.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
