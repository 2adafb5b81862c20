//! Trying again, until a deadline.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::time::{Instant, sleep_until, timeout_at};

/// What an error means for the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Soon, with growing pauses.
    Again,
    /// Not before this time has passed.
    After(Duration),
    /// Seldom: somebody has to do something first.
    Slowly,
    /// Never: it would fail again.
    Never,
}

/// Why it did not succeed.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// An error after which no try follows.
    Final(E),
    /// The deadline passed; with what the last try said, if any came to an end.
    Deadline(Option<E>),
}

impl Failure<anyhow::Error> {
    /// What to tell a person.
    pub(crate) fn into_error(self) -> anyhow::Error {
        match self {
            Self::Final(error) | Self::Deadline(Some(error)) => error,
            Self::Deadline(None) => anyhow::anyhow!("no answer in time"),
        }
    }
}

/// The pauses between tries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

/// The pause while an operator is waited for, and the longest that another side may ask for.
const SLOWLY: Duration = Duration::from_secs(20);
const LONGEST_WISH: Duration = Duration::from_mins(1);

/// Tries until one try succeeds, one error is final, or the deadline passes. `failed` hears of every error that is
/// followed by another try.
pub(crate) async fn until<T, E>(
    deadline: Instant,
    pauses: Pauses,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
    next: impl Fn(&E) -> Next,
    mut failed: impl FnMut(&E),
) -> Result<T, Failure<E>> {
    let mut growing = ExponentialBuilder::new()
        .with_min_delay(pauses.first)
        .with_max_delay(pauses.longest)
        .with_jitter()
        .without_max_times()
        .build();
    let mut last = None;
    loop {
        let error = match timeout_at(deadline, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_) => return Err(Failure::Deadline(last)),
        };
        let grown = growing.next().unwrap_or(pauses.longest).min(pauses.longest);
        let pause = match next(&error) {
            Next::Never => return Err(Failure::Final(error)),
            Next::Again => grown,
            Next::After(wish) => wish.clamp(pauses.first, LONGEST_WISH),
            Next::Slowly => SLOWLY,
        };
        let resume = Instant::now() + pause;
        if resume >= deadline {
            sleep_until(deadline).await;
            return Err(Failure::Deadline(Some(error)));
        }
        failed(&error);
        last = Some(error);
        sleep_until(resume).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Failure, LONGEST_WISH, Next, Pauses, SLOWLY, until};

    const PAUSES: Pauses = Pauses {
        first: Duration::from_millis(500),
        longest: Duration::from_secs(8),
    };

    /// Runs tries that fail as told, then succeed, and returns the outcome and the virtual time that it took.
    async fn run(errors: &[Next], deadline: u64) -> (Result<usize, Failure<Next>>, Duration) {
        let begin = Instant::now();
        let mut tries = 0;
        let attempt = async || {
            tries += 1;
            errors.get(tries - 1).map_or(Ok(tries), |next| Err(*next))
        };
        let outcome = until(begin + Duration::from_secs(deadline), PAUSES, attempt, |it| *it, |_| {}).await;
        (outcome, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn succeeds_after_failures() {
        let (outcome, took) = run(&[Next::Again; 3], 60).await;
        assert!(matches!(outcome, Ok(4)));
        assert!(
            took >= Duration::from_millis(3500) && took < Duration::from_secs(15),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn ends_at_a_final_error() {
        let (outcome, took) = run(&[Next::Never], 60).await;
        assert!(matches!(outcome, Err(Failure::Final(Next::Never))));
        assert_eq!(took, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_the_last_error_for_the_deadline() {
        let (outcome, took) = run(&[Next::Again; 100], 60).await;
        assert!(matches!(outcome, Err(Failure::Deadline(Some(Next::Again)))));
        assert_eq!(took.as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn obeys_a_wish_within_bounds() {
        let (_, took) = run(&[Next::After(Duration::from_secs(7))], 600).await;
        assert_eq!(took.as_secs(), 7);
        let (_, took) = run(&[Next::After(Duration::from_hours(99))], 600).await;
        assert_eq!(took.as_secs(), LONGEST_WISH.as_secs());
        let (_, took) = run(&[Next::After(Duration::ZERO)], 600).await;
        assert_eq!(took.as_millis(), PAUSES.first.as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn asks_slowly_where_an_operator_is_needed() {
        let (_, took) = run(&[Next::Slowly; 2], 600).await;
        assert_eq!(took.as_secs(), 2 * SLOWLY.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn cuts_off_a_try_that_hangs() {
        let begin = Instant::now();
        let hang = async || std::future::pending::<Result<(), Next>>().await;
        let outcome = until(begin + Duration::from_secs(5), PAUSES, hang, |it| *it, |_| {}).await;
        assert!(matches!(outcome, Err(Failure::Deadline(None))));
        assert_eq!(begin.elapsed().as_secs(), 5);
    }
}
