//! What a command says and asks.

use std::io::{ErrorKind, IsTerminal as _, Write, stderr, stdin, stdout};

use anyhow::Context as _;
use serde::Serialize;

/// Where what was asked for goes, and where what is to be known beside it.
pub(super) struct Console {
    out: Box<dyn Write + Send>,
    notes: Box<dyn Write + Send>,
    /// Whether whoever reads has gone away.
    deserted: bool,
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
            deserted: false,
        }
    }

    /// What was asked for. Who goes away before the end, as `head` does, has seen enough: that ends no work.
    pub(super) fn print(&mut self, text: &str) -> anyhow::Result<()> {
        if self.deserted {
            return Ok(());
        }
        match self.out.write_all(text.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.deserted = true,
            done => done.context("failed to print")?,
        }
        Ok(())
    }

    /// Whether all that was printed so far found somebody to read it.
    pub(super) fn is_read(&self) -> bool {
        !self.deserted
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
