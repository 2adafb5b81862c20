//! A journey that is only told: steps, and what would happen in each.

use std::time::Duration;

use serde::Serialize;

/// All steps, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Outline {
    pub(super) steps: Vec<Step>,
}

/// A step, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) within_seconds: u64,
    pub(super) lines: Vec<Line>,
}

/// One thing that is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What sort of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// It is so on this machine.
    Sees,
    /// It would be done.
    Does,
    /// A file that would be written.
    Writes,
    /// Nobody here knows it before the claim.
    Later,
    /// It may not be meant so.
    Doubtful,
    /// The journey would end at it.
    Ends,
}

impl Outline {
    /// Whether the journey would come to its end.
    pub(crate) fn arrives(&self) -> bool {
        let mut lines = self.steps.iter().flat_map(|it| &it.lines);
        lines.all(|it| it.kind != Kind::Ends)
    }
}

impl Step {
    pub(super) fn new(name: &'static str, within: Duration) -> Self {
        Self {
            name,
            within_seconds: within.as_secs(),
            lines: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, kind: Kind, text: impl Into<String>) {
        let text = text.into();
        self.lines.push(Line { kind, text });
    }

    pub(super) fn add_all(&mut self, kind: Kind, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|it| self.add(kind, it));
    }

    /// What was found, or what the journey would end at.
    pub(super) fn add_found(&mut self, found: Result<String, &anyhow::Error>) {
        match found {
            Ok(text) => self.add(Kind::Sees, text),
            Err(error) => self.add(Kind::Ends, format!("{error:#}")),
        }
    }
}
