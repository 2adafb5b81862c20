//! Findings for people.

use super::decide::Finding;
use crate::commands::table::table;

/// The table, and below it what to do about each that is not well.
pub(super) fn findings(findings: &[Finding]) -> String {
    let rows = findings
        .iter()
        .map(|it| [it.check.to_owned(), it.outcome.to_string(), it.found.clone()]);
    let table = table(["CHECK", "RESULT", "FOUND"], rows);
    let remedies = findings.iter().filter_map(|it| {
        let remedy = it.remedy.as_ref()?;
        Some(format!(
            "\n{} ({}): {}\n  remedy: {remedy}\n",
            it.check, it.outcome, it.found
        ))
    });
    table + &remedies.collect::<String>()
}
