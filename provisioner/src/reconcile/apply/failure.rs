//! Why a pass ended early.

use kube::Error;

use super::PATIENCE;
use crate::api_server::fault::told;

/// Why a pass ended early; the next one mends it.
#[derive(Debug, thiserror::Error)]
pub(in crate::reconcile) enum Failure {
    #[error("{object} has changed while it was being looked at")]
    Changed { object: String },
    #[error("failed to {action}: {}", told(.error))]
    Refused { action: String, error: Box<Error> },
    #[error("failed to {action} within {PATIENCE:?}")]
    TimedOut { action: String },
    #[error("failed to read the Node's Lease: {}", told(.0))]
    NoLease(Box<Error>),
    #[error("the join Secret holds no token")]
    NoToken,
    #[error("a watch has ended")]
    WatchEnded,
}

impl Failure {
    /// What it is counted as.
    pub(in crate::reconcile) fn name(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "conflict",
            Self::Refused { .. } | Self::NoLease(_) => "refused",
            Self::TimedOut { .. } => "timed-out",
            Self::NoToken | Self::WatchEnded => "failed",
        }
    }
}

/// A failure that does not know yet what was being done.
pub(super) enum Cause {
    Api(Error),
    NoToken,
    KeyNotLost,
}

impl From<Error> for Cause {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

impl Cause {
    pub(super) fn of(self, action: &str) -> Failure {
        let action = action.to_owned();
        match self {
            Self::NoToken => Failure::NoToken,
            Self::KeyNotLost => Failure::Changed {
                object: "the chosen key".to_owned(),
            },
            Self::Api(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                let object = status.details.as_ref().map(|it| format!("{} `{}`", it.kind, it.name));
                Failure::Changed {
                    object: object.unwrap_or(action),
                }
            }
            Self::Api(error) => Failure::Refused {
                action,
                error: Box::new(error),
            },
        }
    }
}
