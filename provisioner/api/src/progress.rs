//! `POST /v1/workers/{id}/progress`: what happened on the node, for those who cannot log in to it any more. Advice only.

mod secrets;

use serde::{Deserialize, Serialize};

/// The most steps that a report may hold.
pub const MAX_STEPS: usize = 32;

/// The most lines of log, and the most bytes of any text, that a report may hold.
pub const MAX_LINES: usize = 20;

/// The longest text of a report, in bytes.
pub const MAX_TEXT: usize = 500;

/// The most findings about a node's surroundings that a report may hold.
pub const MAX_IMPAIRED: usize = 8;

/// How the journey went so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Where it stands.
    pub outcome: Outcome,
    /// The steps that have begun, in order.
    pub steps: Vec<Step>,
    /// On failure: the one line that names step, object, cause and remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// On failure: the last lines of the log, without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Of a Ready node: what around it does not work, each with its remedy. Empty if all does that could be looked at; absent if
    /// nothing could, or not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impaired: Option<Vec<String>>,
}

/// Where a journey stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Under way.
    Running,
    /// The Node is Ready.
    Ready,
    /// Given up.
    Failed,
}

/// One step of the journey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// `facts`, `claim`, `tunnel`, `names`, `join`, `ready`.
    pub name: String,
    /// Milliseconds from the journey's start to the step's.
    pub started_ms: u64,
    /// Milliseconds that it took; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Progress {
    /// The report within the protocol's bounds: too much is cut, control characters become spaces, and what looks like a
    /// secret is hidden.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.steps.truncate(MAX_STEPS);
        for step in &mut self.steps {
            bound(&mut step.name);
            if let Some(error) = &mut step.error {
                bound(error);
            }
        }
        if let Some(error) = &mut self.error {
            bound(error);
        }
        let excess = self.log.len().saturating_sub(MAX_LINES);
        self.log.drain(..excess);
        self.log.iter_mut().for_each(bound);
        if let Some(impaired) = &mut self.impaired {
            impaired.truncate(MAX_IMPAIRED);
            impaired.iter_mut().for_each(bound);
        }
        self
    }

    /// Whether the findings are within their bounds, as whoever sends them has made sure.
    #[must_use]
    pub fn fits(&self) -> bool {
        let findings = self.impaired.as_deref().unwrap_or_default();
        let fits = |it: &String| !it.is_empty() && it.len() <= MAX_TEXT && !it.contains(char::is_control);
        findings.len() <= MAX_IMPAIRED && findings.iter().all(fits)
    }
}

fn bound(text: &mut String) {
    // Before the cut, which could leave half of one.
    *text = secrets::hide(text);
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    *text = text[..end]
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::{MAX_IMPAIRED, MAX_LINES, MAX_STEPS, MAX_TEXT, Outcome, Progress, Step};

    #[test]
    fn is_cut_to_its_bounds() {
        let step = Step {
            name: "\u{1b}[31mjoin".to_owned(),
            started_ms: 0,
            elapsed_ms: None,
            attempts: 1,
            error: Some(format!("{} abcdef.0123456789abcdef", "ü".repeat(MAX_TEXT / 2 - 12))),
        };
        let report = Progress {
            outcome: Outcome::Failed,
            steps: vec![step; 100],
            error: Some("a\nb".to_owned()),
            log: (0..100).map(|it| it.to_string()).collect(),
            impaired: Some(vec!["a\nb".to_owned(); 100]),
        };
        assert!(!report.fits());
        let report = report.bounded();
        assert!(report.fits());
        assert_eq!(report.impaired, Some(vec!["a b".to_owned(); MAX_IMPAIRED]));
        assert_eq!(report.steps.len(), MAX_STEPS);
        assert_eq!(report.steps[0].name, " [31mjoin");
        let error = report.steps[0].error.as_ref().unwrap();
        assert!(error.len() <= MAX_TEXT && error.ends_with("abcdef.[secret]"), "{error}");
        assert_eq!(report.error.as_deref(), Some("a b"));
        assert_eq!(
            (report.log.len(), report.log[0].as_str()),
            (MAX_LINES, "80"),
            "the last lines are kept"
        );
    }

    fn report(json: &str) -> Progress {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn reads_reports_of_agents_before_and_after() {
        let before = r#"{"outcome":"ready","steps":[]}"#;
        assert_eq!(report(before).impaired, None);
        assert_eq!(serde_json::to_string(&report(before)).unwrap(), before);
        let after = r#"{"outcome":"ready","steps":[],"impaired":[],"unknown":1}"#;
        assert_eq!(report(after).impaired, Some(Vec::new()));
    }

    #[test_case::test_case("[]", true; "nothing")]
    #[test_case::test_case(r#"["cluster DNS"]"#, true; "a finding")]
    #[test_case::test_case(r#"[""]"#, false; "an empty one")]
    #[test_case::test_case(r#"["a\nb"]"#, false; "two lines")]
    #[test_case::test_case(r#"["","","","","","","","",""]"#, false; "too many")]
    fn is_held_to_the_bounds_of_findings(impaired: &str, fits: bool) {
        let json = format!(r#"{{"outcome":"ready","steps":[],"impaired":{impaired}}}"#);
        assert_eq!(report(&json).fits(), fits);
    }
}
