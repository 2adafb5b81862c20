//! How often in a row a Worker's pass has failed, and so how long until the next one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// After a conflict a newer object is on its way; after other failures patience grows.
const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(30);

/// The Workers whose last pass failed.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Twice as long after each failure in a row.
    pub(super) fn again_after(&self, worker: String) -> Duration {
        let mut counts = self.counts();
        let count = counts.entry(worker).or_default();
        let wait = FIRST.saturating_mul(1 << (*count).min(16)).min(LAST);
        *count += 1;
        wait
    }

    /// Its pass is done, or it is gone.
    pub(super) fn forget(&self, worker: &str) {
        self.counts().remove(worker);
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Failures;

    #[test]
    fn patience_grows_to_its_end_and_is_forgotten() {
        let failures = Failures::default();
        let waits = (0..20).map(|_| failures.again_after("i-1".to_owned()));
        let waits: Vec<u128> = waits.map(|it| it.as_millis()).collect();
        assert_eq!((&waits[..3], waits[19]), (&[50, 100, 200][..], 30_000));
        failures.forget("i-1");
        assert!(failures.counts().is_empty());
        assert_eq!(failures.again_after("i-1".to_owned()), Duration::from_millis(50));
    }
}
