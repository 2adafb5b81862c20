//! The first step: which instance this is, from its metadata service.

mod credentials;
mod document;
mod imds;
mod spot;
mod symptom;

use std::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::retry::{self, Failure, Next, Pauses};
use crate::timeline::Recorder;

pub(crate) use credentials::Credentials;
pub(crate) use document::Facts;
pub(crate) use imds::{Error, Imds};
pub(crate) use spot::Interruption;

use symptom::Symptom;

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(2),
};

/// Asks the metadata service, patiently: an instance is often faster than the network around it, and than its clock.
pub(crate) async fn learn(imds: &Imds, within: Duration, recorder: &Recorder) -> anyhow::Result<Facts> {
    let deadline = Instant::now() + within;
    let failed = |error: &Error| recorder.tries_again(&error.to_string());
    let facts = match retry::until(deadline, PAUSES, async || imds.facts().await, Error::next, failed).await {
        Ok(facts) => facts,
        Err(Failure::Final(error) | Failure::Deadline(Some(error))) => return Err(explain(error, Some(within)).await),
        Err(Failure::Deadline(None)) => {
            let cause = "nothing came".to_owned();
            return Err(explain(Error::Unreachable { cause }, Some(within)).await);
        }
    };
    clock::wait_until_sane(deadline).await?;
    Ok(facts)
}

/// Asks once, for those who only look.
pub(crate) async fn look(imds: &Imds) -> anyhow::Result<Facts> {
    match imds.facts().await {
        Ok(facts) => Ok(facts),
        Err(error) => Err(explain(error, None).await),
    }
}

async fn explain(error: Error, within: Option<Duration>) -> anyhow::Error {
    let remedy = match &error {
        Error::Unreachable { .. } | Error::Refused | Error::Status { .. } => {
            symptom::look(&imds::ADDRESSES).await.remedy()
        }
        Error::Absent { .. } | Error::Malformed { .. } => Symptom::Answer(200).remedy(),
        Error::Disagree { .. } => "something on the way alters the metadata; do not trust this machine",
    };
    let within = within.map(|it| format!(" within {it:?}")).unwrap_or_default();
    anyhow::Error::new(error).context(format!("failed to read the instance's metadata{within} ({remedy})"))
}

impl Error {
    fn next(&self) -> Next {
        match self {
            Self::Unreachable { .. } | Self::Absent { .. } | Self::Status { .. } | Self::Malformed { .. } => {
                Next::Again
            }
            Self::Refused | Self::Disagree { .. } => Next::Never,
        }
    }
}

#[cfg(test)]
mod tests;
