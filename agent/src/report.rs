//! Progress, told to the provisioner for those who cannot log in here any more. It never fails the journey.

use std::time::Duration;

use dynk8s_api::{InstanceId, PrivateKey};
use tokio::time::timeout;
use tracing::warn;

use crate::claim::Provisioner;
use crate::timeline::Recorder;

const PATIENCE: Duration = Duration::from_secs(15);

/// Sends the timeline as it stands.
pub(crate) async fn send(provisioner: &Provisioner, id: &InstanceId, key: &PrivateKey, recorder: &Recorder) {
    let report = recorder.report();
    match timeout(PATIENCE, provisioner.progress(id, key, &report)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!("failed to report to the provisioner: {error}"),
        Err(_) => warn!(
            "failed to report to the provisioner: no answer in {}s",
            PATIENCE.as_secs()
        ),
    }
}
