//! Who may ask STS now: few at a time, one for each instance, and those who can show something before strangers.
//!
//! Anybody can make up a signature that only STS can refuse. An instance that was announced, or that has shown a document
//! signed by AWS, is not held up by those who did.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dynk8s_api::InstanceId;
use tokio::sync::{OwnedMutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Questions that are open at the same time.
const KNOWN: usize = 6;
const STRANGERS: usize = 2;

/// Claims of one instance that may be under way.
const OF_ONE: usize = 4;

/// How long a claim waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// What speaks for an instance before STS does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was announced, or its document holds.
    Known,
    /// Nothing.
    Stranger,
}

type Lock = Arc<tokio::sync::Mutex<()>>;

/// The turns that there are.
#[derive(Debug)]
pub(super) struct Turns {
    known: Semaphore,
    strangers: Semaphore,
    instances: Mutex<HashMap<InstanceId, Lock>>,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    instance: InstanceId,
    held: Option<(OwnedMutexGuard<()>, SemaphorePermit<'a>)>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            known: Semaphore::new(KNOWN),
            strangers: Semaphore::new(STRANGERS),
            instances: Mutex::default(),
        }
    }

    /// A turn, unless it does not come soon.
    pub(super) async fn take(&self, instance: &InstanceId, standing: Standing) -> Option<Turn<'_>> {
        let lock = self.line_up(instance)?;
        // From here on it is taken out of the line whatever happens.
        let mut turn = Turn {
            turns: self,
            instance: instance.clone(),
            held: None,
        };
        let lane = match standing {
            Standing::Known => &self.known,
            Standing::Stranger => &self.strangers,
        };
        let wait = async { (lock.lock_owned().await, lane.acquire().await) };
        let (own, permit) = timeout(MAX_WAIT, wait).await.ok()?;
        turn.held = Some((own, permit.ok()?));
        Some(turn)
    }

    fn line_up(&self, instance: &InstanceId) -> Option<Lock> {
        let mut instances = self.instances();
        let lock = instances.entry(instance.clone()).or_default();
        (Arc::strong_count(lock) <= OF_ONE).then(|| Arc::clone(lock))
    }

    fn instances(&self) -> MutexGuard<'_, HashMap<InstanceId, Lock>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut instances = self.turns.instances();
        if instances
            .get(&self.instance)
            .is_some_and(|it| Arc::strong_count(it) == 1)
        {
            instances.remove(&self.instance);
        }
    }
}

#[cfg(test)]
mod tests {
    use dynk8s_api::InstanceId;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use tokio::time::Instant;

    use super::{KNOWN, MAX_WAIT, OF_ONE, STRANGERS, Standing, Turns};

    fn instance(number: usize) -> InstanceId {
        format!("i-{number:017x}").parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn ten_thousand_strangers_do_not_hold_up_who_is_known() {
        let turns = &Turns::new();
        let strangers = (1..=10_000).map(|it| async move {
            let turn = turns.take(&instance(it), Standing::Stranger).await;
            // STS does not answer any of them.
            std::future::pending::<()>().await;
            drop(turn);
        });
        let began = Instant::now();
        let honest = async {
            tokio::task::yield_now().await;
            turns.take(&instance(0), Standing::Known).await.is_some()
        };
        let (_, served) = tokio::join!(tokio::time::timeout(MAX_WAIT / 2, join_all(strangers)), honest);
        assert!(served);
        assert!(began.elapsed() <= MAX_WAIT / 2);
        assert_eq!(turns.strangers.available_permits(), STRANGERS, "all have let go");
        assert!(turns.instances().is_empty(), "nothing is kept of those who left");
    }

    #[tokio::test(start_paused = true)]
    async fn few_ask_at_a_time() {
        let turns = Turns::new();
        for (standing, most) in [(Standing::Known, KNOWN), (Standing::Stranger, STRANGERS)] {
            let instances: Vec<_> = (0..=most).map(instance).collect();
            let taken = join_all(instances.iter().map(|it| turns.take(it, standing))).await;
            assert_eq!(taken.iter().filter(|it| it.is_some()).count(), most);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_instance_asks_one_question_at_a_time_and_others_are_not_held_up() {
        let turns = Turns::new();
        let (one, two) = (instance(1), instance(2));
        let first = turns.take(&one, Standing::Known).await.unwrap();
        let began = Instant::now();
        let more = join_all((0..20).map(|_| turns.take(&one, Standing::Known)));
        let other = turns.take(&two, Standing::Known);
        let (more, other) = tokio::join!(more, other);
        assert!(other.is_some() && more.iter().all(Option::is_none));
        assert_eq!(began.elapsed(), MAX_WAIT, "some have waited");
        drop((first, other));
        assert!(turns.instances().is_empty());
        assert!(turns.take(&one, Standing::Known).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_line_of_one_instance_is_short() {
        let turns = Turns::new();
        let one = instance(1);
        let _first = turns.take(&one, Standing::Known).await.unwrap();
        let began = Instant::now();
        let mut waiting: Vec<_> = (1..OF_ONE)
            .map(|_| Box::pin(turns.take(&one, Standing::Known)))
            .collect();
        for it in &mut waiting {
            assert!(it.now_or_never().is_none());
        }
        assert!(turns.take(&instance(1), Standing::Known).await.is_none());
        assert_eq!(
            began.elapsed(),
            std::time::Duration::ZERO,
            "who comes last does not wait"
        );
    }
}
