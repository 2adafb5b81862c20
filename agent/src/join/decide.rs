//! Why a join failed, in a sentence, and what to do about it: told from what kubeadm and the kubelet said.

mod known;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

pub(super) use known::SWAP;
use known::{CHECKS, KUBELET, PHRASES};

/// A cause and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    cause: String,
    remedy: &'static str,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.cause, self.remedy)
    }
}

/// Tells the cause from kubeadm's last lines and, where the kubelet did not get healthy, from its own last words.
pub(crate) fn cause(lines: &[String], kubelet: Option<&str>) -> Cause {
    let checks: Vec<(&str, &str)> = lines.iter().filter_map(|line| failed_check(line)).collect();
    if let [first, rest @ ..] = &checks[..] {
        return preflight(*first, rest);
    }
    let healthy = lines.iter().any(|it| it.contains("The kubelet is healthy"));
    let silent = !healthy && lines.iter().any(|it| is_unhealthy_kubelet(it));
    if let Some(words) = kubelet.filter(|_| silent) {
        let remedy = KUBELET.iter().find(|(phrase, _)| words.contains(phrase));
        return Cause {
            cause: format!("the kubelet did not get healthy: {words}"),
            remedy: remedy.map_or("see `journalctl -u kubelet`", |(_, remedy)| remedy),
        };
    }
    let last = lines.iter().rev().map(|it| it.trim());
    let last = last.into_iter().find(|it| !it.is_empty() && !is_advice(it));
    let last = last.unwrap_or("kubeadm said nothing");
    let remedy = PHRASES.iter().find(|(phrase, _)| last.contains(phrase));
    Cause {
        cause: last.trim_start_matches("error: ").to_owned(),
        remedy: remedy.map_or("see the journal of dynk8s-agent and of the kubelet", |(_, remedy)| {
            remedy
        }),
    }
}

/// What a kubeadm said that was stopped, and that it was: its last words say what it waited for.
pub(crate) fn with_its_end(mut lines: Vec<String>, deadline: Duration) -> Vec<String> {
    let last = lines.iter().rev().map(|it| it.trim()).find(|it| !it.is_empty());
    let waited = last.map_or("it said nothing".to_owned(), |it| format!("its last words: {it}"));
    lines.push(format!(
        "kubeadm did not come to an end within {} s; {waited}",
        deadline.as_secs()
    ));
    lines
}

/// The first check that failed explains most of the others.
fn preflight((name, text): (&str, &str), rest: &[(&str, &str)]) -> Cause {
    let remedy = CHECKS.iter().find(|(known, _)| name.starts_with(known));
    let others: Vec<&str> = rest.iter().map(|(name, _)| *name).collect();
    let others = match &others[..] {
        [] => String::new(),
        others => format!("; also failed: {}", others.join(", ")),
    };
    Cause {
        cause: format!("kubeadm's check {name} failed: {text}{others}"),
        remedy: remedy.map_or("see `kubeadm join --help` for the check", |(_, remedy)| remedy),
    }
}

/// The last line of the kubelet's log by which it says why it ends.
pub(crate) fn last_words(log: &[String]) -> Option<&str> {
    let fatal = |line: &&String| {
        line.contains("command failed") || line.contains("failed to run Kubelet") || line.starts_with('F')
    };
    let error = |line: &&String| line.starts_with('E') || line.contains("\"Failed");
    let found = log.iter().rev().find(fatal).or_else(|| log.iter().rev().find(error))?;
    // After klog's header: `E1202 04:05:06.000000    1234 run.go:72] `
    let words = found.split_once("] ").map_or(found.as_str(), |(_, words)| words);
    Some(
        words
            .strip_prefix("\"command failed\" err=\"")
            .map_or(words, |it| it.trim_end_matches('"')),
    )
}

fn failed_check(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("[ERROR ")?;
    rest.split_once("]: ")
}

fn is_unhealthy_kubelet(line: &str) -> bool {
    [
        "kubelet is not healthy",
        "kubelet isn't running",
        "127.0.0.1:10248/healthz",
        "waiting for TLS bootstrap",
    ]
    .iter()
    .any(|it| line.contains(it))
}

fn is_advice(line: &str) -> bool {
    line.starts_with("To see the stack trace")
}
