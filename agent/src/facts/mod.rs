//! The first step: which instance this is, from its metadata service.

mod credentials;
mod document;
mod imds;

use std::time::Duration;

use tokio::time::Instant;

use crate::retry::{self, Failure, Next, Pauses};
use crate::timeline::Recorder;

pub(crate) use credentials::Credentials;
pub(crate) use document::Facts;
pub(crate) use imds::{Error, Imds};

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(2),
};

/// Asks the metadata service, patiently: an instance is often faster than the network around it.
pub(crate) async fn learn(imds: &Imds, within: Duration, recorder: &Recorder) -> anyhow::Result<Facts> {
    let deadline = Instant::now() + within;
    let failed = |error: &Error| recorder.tries_again(&error.to_string());
    let outcome = retry::until(deadline, PAUSES, async || imds.facts().await, Error::next, failed).await;
    outcome.map_err(|failure| match failure {
        Failure::Final(error) | Failure::Deadline(Some(error)) => explain(error, within),
        Failure::Deadline(None) => {
            let cause = "nothing came".to_owned();
            explain(Error::Unreachable { cause }, within)
        }
    })
}

fn explain(error: Error, within: Duration) -> anyhow::Error {
    let remedy = error.remedy();
    anyhow::Error::new(error).context(format!(
        "failed to read the instance's metadata within {within:?} ({remedy})"
    ))
}

impl Error {
    fn next(&self) -> Next {
        match self {
            Self::Unreachable { .. } | Self::Absent { .. } | Self::Status { .. } | Self::Malformed { .. } => {
                Next::Again
            }
            Self::Refused => Next::Never,
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "check the instance's metadata options: HttpEndpoint must be enabled, and HttpPutResponseHopLimit at \
                 least 2 where the agent runs in a container"
            }
            Self::Refused => "set the instance's metadata option HttpEndpoint to enabled",
            Self::Absent { .. } | Self::Status { .. } | Self::Malformed { .. } => "is this an EC2 instance?",
        }
    }
}

#[cfg(test)]
mod tests;
