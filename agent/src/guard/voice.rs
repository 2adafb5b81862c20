//! Saying a thing once: who guards for months says the same thing every few seconds otherwise.

use tracing::{debug, info, warn};

/// What was said last.
#[derive(Debug, Default)]
pub(super) struct Voice {
    said: Option<String>,
}

impl Voice {
    /// Warns, unless that is what was said last.
    pub(super) fn complain(&mut self, text: &str) {
        if self.said.as_deref() == Some(text) {
            debug!("{text}");
        } else {
            warn!("{text}");
            self.said = Some(text.to_owned());
        }
    }

    /// What was wrong is no more.
    pub(super) fn is_well(&mut self, text: &str) {
        if self.said.take().is_some() {
            info!("{text}");
        }
    }
}
