//! Why a claim is refused: what the agent is told, which is no more than it must know, and what the log is told.

use std::fmt;

use dynk8s_api::problem::Reason;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Reason,
    /// For the agent.
    pub told: String,
    /// For the log, where that is more.
    pub because: Option<String>,
}

impl Refusal {
    pub fn new(reason: Reason, told: impl Into<String>) -> Self {
        Self {
            reason,
            told: told.into(),
            because: None,
        }
    }

    /// The same, with what only the log is told.
    #[must_use]
    pub fn because(mut self, because: impl Into<String>) -> Self {
        self.because = Some(because.into());
        self
    }
}

impl From<(Reason, String)> for Refusal {
    fn from((reason, told): (Reason, String)) -> Self {
        Self::new(reason, told)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.because.as_ref().unwrap_or(&self.told))
    }
}
