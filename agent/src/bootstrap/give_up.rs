//! What becomes of a machine whose journey failed for good.

use std::path::Path;

use tracing::{error, warn};

use crate::config::{OnFailure, Settings};
use crate::host::lock::Held;
use crate::host::service;
use crate::join::KUBELET_CONFIG;

/// Powers the machine off, if it is so configured. A node that has joined stays, for it may hold what a reboot mends.
pub async fn give_up(settings: &Settings, failure: &anyhow::Error) {
    let is_node = Path::new(KUBELET_CONFIG).exists();
    if !powers_off(settings.on_failure, is_node, failure) {
        return;
    }
    warn!("powering off, as `on_failure` in agent.toml says, so that the group replaces this instance");
    if let Err(error) = service::power_off().await {
        error!("{error:#}");
    }
}

/// Another agent's journey is not ours to end.
fn powers_off(configured: OnFailure, is_node: bool, failure: &anyhow::Error) -> bool {
    configured == OnFailure::PowerOff && !is_node && failure.downcast_ref::<Held>().is_none()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use test_case::test_case;

    use super::{OnFailure, powers_off};
    use crate::host::lock;

    #[test_case(OnFailure::PowerOff, false, true; "a machine that never joined")]
    #[test_case(OnFailure::PowerOff, true, false; "a node")]
    #[test_case(OnFailure::None, false, false; "where nothing is configured")]
    fn powers_off_what_costs_money_for_nothing(configured: OnFailure, is_node: bool, expected: bool) {
        assert_eq!(powers_off(configured, is_node, &anyhow!("claim: refused")), expected);
    }

    #[test]
    fn leaves_another_agents_journey_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _held = lock::take(&path).unwrap();
        let failure = lock::take(&path).unwrap_err();
        assert!(!powers_off(OnFailure::PowerOff, false, &failure));
    }
}
