//! What becomes of a key that shall not be used any more.

use super::inventory::{Entry, State};

/// What to do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retirement {
    /// Nobody has it, or nobody minds.
    Delete,
    /// It is removed when its instance is gone.
    Mark,
    /// That was said before.
    MarkedAlready,
}

/// Decides about one key.
pub(crate) fn retire(entry: &Entry, force: bool) -> Retirement {
    match entry.state {
        State::Free | State::Quarantined | State::Unlabelled | State::Unusable | State::Retired => Retirement::Delete,
        State::InUse | State::Cooling if force => Retirement::Delete,
        State::InUse | State::Cooling if entry.retired => Retirement::MarkedAlready,
        State::InUse | State::Cooling => Retirement::Mark,
    }
}
