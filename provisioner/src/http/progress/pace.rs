//! How often a report becomes a write: whatever an agent sends, it is one in a few seconds, and the last word counts.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dynk8s_api::InstanceId;
use dynk8s_api::progress::Outcome;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Sender};
use tokio::time::{Instant, sleep_until};

/// From one write to the next.
const PAUSE: Duration = Duration::from_secs(3);

/// The instances that reported within the last pause.
#[derive(Debug, Default)]
pub struct Pace {
    turns: Mutex<HashMap<InstanceId, Turn>>,
}

#[derive(Debug)]
struct Turn {
    /// What was written or is going to be.
    outcome: Outcome,
    next: Instant,
    /// Dropped when a later report takes the place of the one that waits, so that of each instance only one does.
    waits: Option<Sender<Infallible>>,
}

impl Pace {
    /// Waits until this report may be written, and tells whether it is still to be.
    pub(super) async fn allows(&self, id: &InstanceId, outcome: Outcome) -> bool {
        let (mut superseded, next) = {
            let now = Instant::now();
            let mut turns = self.turns();
            turns.retain(|_, it| it.next > now || it.waits.as_ref().is_some_and(|it| !it.is_closed()));
            let Some(turn) = turns.get_mut(id) else {
                turns.insert(id.clone(), Turn::taken(outcome, now));
                return true;
            };
            if (turn.outcome, outcome) == (Outcome::Running, Outcome::Running) {
                return false;
            }
            let (waits, superseded) = oneshot::channel();
            turn.waits = Some(waits);
            turn.outcome = outcome;
            (superseded, turn.next)
        };
        tokio::select! {
            _ = &mut superseded => return false,
            () = sleep_until(next) => {}
        }
        let mut turns = self.turns();
        let last = superseded.try_recv() == Err(TryRecvError::Empty);
        if last {
            turns.insert(id.clone(), Turn::taken(outcome, Instant::now()));
        }
        last
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<InstanceId, Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn taken(outcome: Outcome, now: Instant) -> Self {
        Self {
            outcome,
            next: now + PAUSE,
            waits: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynk8s_api::InstanceId;
    use dynk8s_api::progress::Outcome::{Failed, Ready, Running};
    use tokio::time::{Instant, sleep};

    use super::{PAUSE, Pace};

    fn id(number: u32) -> InstanceId {
        format!("i-{number:08x}").parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_soon_after_another_tells_nothing() {
        let pace = Pace::default();
        assert!(pace.allows(&id(1), Running).await);
        sleep(PAUSE.saturating_sub(Duration::from_millis(1))).await;
        assert!(!pace.allows(&id(1), Running).await);
        assert!(pace.allows(&id(2), Running).await, "another instance");
        sleep(Duration::from_millis(1)).await;
        assert!(pace.allows(&id(1), Running).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_and_is_not_lost() {
        let pace = Pace::default();
        let began = Instant::now();
        assert!(pace.allows(&id(1), Running).await);
        assert!(pace.allows(&id(1), Failed).await);
        assert_eq!(began.elapsed(), PAUSE);
        assert!(pace.allows(&id(1), Failed).await, "it may have another reason");
        assert_eq!(began.elapsed(), PAUSE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_changes_his_mind_is_written_once_and_with_his_last_word() {
        let pace = Pace::default();
        let (began, id) = (Instant::now(), id(1));
        assert!(pace.allows(&id, Running).await);
        let earlier = async { (pace.allows(&id, Failed).await, began.elapsed()) };
        let latest = async {
            sleep(Duration::from_secs(1)).await;
            (
                pace.allows(&id, Running).await,
                pace.allows(&id, Ready).await,
                began.elapsed(),
            )
        };
        let later = async {
            sleep(Duration::from_secs(2)).await;
            pace.allows(&id, Failed).await
        };
        let (earlier, latest, later) = tokio::join!(earlier, latest, later);
        assert_eq!(earlier, (false, Duration::from_secs(1)), "it does not wait any longer");
        assert_eq!((latest, later), ((false, true, PAUSE), false));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_of_instances_that_are_silent() {
        let pace = Pace::default();
        for number in 0..100 {
            assert!(pace.allows(&id(number), Running).await);
        }
        let id_1 = id(1);
        let hung_up = tokio::time::timeout(Duration::from_secs(1), pace.allows(&id_1, Failed));
        assert!(hung_up.await.is_err());
        sleep(PAUSE).await;
        assert!(pace.allows(&id(200), Running).await);
        assert_eq!(pace.turns().len(), 1);
    }
}
