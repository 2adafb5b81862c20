//! Instances as a table for people.

use jiff::Timestamp;

use super::decide::Summary;
use crate::commands::table::{age, table};

pub(super) fn list(summaries: &[Summary], now: Timestamp) -> String {
    let head = [
        "NAME",
        "PHASE",
        "NODE",
        "KEY",
        "TYPE",
        "ZONE",
        "AGE",
        "REASON",
        "LAST ERROR",
    ];
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    let rows = summaries.iter().map(|it| {
        [
            it.name.clone(),
            it.phase.map(|it| format!("{it:?}")).unwrap_or_default(),
            text(&it.node),
            text(&it.key),
            text(&it.instance_type),
            text(&it.zone),
            age(it.created, now),
            text(&it.reason),
            text(&it.error),
        ]
    });
    table(head, rows)
}
