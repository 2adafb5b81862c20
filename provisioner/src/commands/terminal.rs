//! What a command says and asks.

use std::io::{IsTerminal as _, Write, stderr, stdin, stdout};

use anyhow::Context as _;
use serde::Serialize;

/// Where what was asked for goes, and where what is to be known beside it.
pub(super) struct Console {
    out: Box<dyn Write + Send>,
    notes: Box<dyn Write + Send>,
}

impl Console {
    /// The process's own.
    pub(super) fn standard() -> Self {
        Self::new(stdout(), stderr())
    }

    pub(super) fn new(out: impl Write + Send + 'static, notes: impl Write + Send + 'static) -> Self {
        Self {
            out: Box::new(out),
            notes: Box::new(notes),
        }
    }

    /// What was asked for.
    pub(super) fn print(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes()).context("failed to print")
    }

    /// The same, for programs.
    pub(super) fn print_json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value).context("failed to print")?;
        self.print(&(text + "\n"))
    }

    /// What is to be known beside it. That nobody listens is no failure.
    pub(super) fn note(&mut self, text: &str) {
        let _ = writeln!(self.notes, "{}", text.trim_end());
    }

    /// Whether somebody at the terminal agrees; nobody there does not.
    pub(super) fn agrees(&mut self, question: &str) -> anyhow::Result<bool> {
        if !stdin().is_terminal() {
            return Ok(false);
        }
        let _ = write!(self.notes, "{question} [y/N] ");
        let mut answer = String::new();
        stdin().read_line(&mut answer).context("failed to read the answer")?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
