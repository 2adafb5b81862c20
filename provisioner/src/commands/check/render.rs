//! Findings for people.

use super::decide::Finding;
use crate::commands::table::table;

/// The table, and below it what to do about each that is not well.
pub(super) fn findings(findings: &[Finding]) -> String {
    let rows = findings
        .iter()
        .map(|it| [it.check.to_owned(), it.outcome.to_string(), it.found.clone()]);
    let mut text = table(["CHECK", "RESULT", "FOUND"], rows);
    for finding in findings {
        if let Some(remedy) = &finding.remedy {
            text += &format!("\n{} ({}): {}\n", finding.check, finding.outcome, finding.found);
            text += &format!("  remedy: {remedy}\n");
        }
    }
    text
}
