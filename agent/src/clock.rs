//! This machine's clock, against what else is known about the time. It is never set here: that is chrony's, or
//! systemd-timesyncd's.

use std::time::Duration;

use anyhow::bail;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

const POLL: Duration = Duration::from_millis(500);

/// Of a difference that certificates, signatures and handshakes do not mind, nothing is said.
const HARMLESS: SignedDuration = SignedDuration::from_mins(1);

/// When this program was built, in seconds since 1970; no clock is right that says less.
const BUILT: &str = env!("DYNK8S_BUILT");

/// Waits until the clock is past the day before this program was built, or says what it shows.
pub(crate) async fn wait_until_sane(deadline: Instant) -> anyhow::Result<()> {
    wait(Timestamp::now, floor(), deadline).await
}

async fn wait(now: impl Fn() -> Timestamp, floor: Timestamp, deadline: Instant) -> anyhow::Result<()> {
    while now() < floor {
        if Instant::now() >= deadline {
            bail!(
                "failed to wait for the clock: it shows {:.0}, which is before this program was built; let chrony or \
                 systemd-timesyncd set it (a VPC serves the time at 169.254.169.123)",
                now()
            );
        }
        sleep(POLL).await;
    }
    Ok(())
}

fn floor() -> Timestamp {
    let built = BUILT.parse().ok().and_then(|it| Timestamp::from_second(it).ok());
    built.unwrap_or_default() - SignedDuration::from_hours(24)
}

/// How far `now` is ahead of the `Date` of an answer.
pub(crate) fn ahead(date: &str, now: Timestamp) -> Option<SignedDuration> {
    let there = DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(now.duration_since(there))
}

/// What to tell of a difference, if it matters.
pub(crate) fn explain(ahead: SignedDuration) -> Option<String> {
    let seconds = ahead.as_secs().unsigned_abs();
    let direction = if ahead.is_negative() { "behind" } else { "ahead of" };
    (ahead.abs() >= HARMLESS).then(|| {
        format!(
            "this machine's clock is {seconds}s {direction} the provisioner's; let chrony or systemd-timesyncd set it (a VPC \
             serves the time at 169.254.169.123)"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};
    use test_case::test_case;
    use tokio::time::Instant;

    use super::{ahead, explain, floor, wait};

    #[tokio::test(start_paused = true)]
    async fn waits_for_a_clock_that_comes_right() {
        let looks = Cell::new(0);
        let now = || {
            looks.set(looks.get() + 1);
            if looks.get() < 5 {
                Timestamp::UNIX_EPOCH
            } else {
                Timestamp::now()
            }
        };
        let began = Instant::now();
        wait(now, floor(), began + Duration::from_secs(10)).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn says_what_a_clock_shows_that_does_not() {
        let began = Instant::now();
        let deadline = began + Duration::from_secs(10);
        let error = wait(|| Timestamp::UNIX_EPOCH, floor(), deadline)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("1970-01-01T00:00:00Z") && error.contains("169.254.169.123"),
            "{error}"
        );
        assert_eq!(began.elapsed().as_secs(), 10);
    }

    #[test]
    fn knows_when_it_was_built() {
        assert!(floor() > "2026-01-01T00:00:00Z".parse().unwrap() && floor() < Timestamp::now());
    }

    #[test_case("Wed, 02 Dec 2026 12:00:00 GMT", Some(0); "the same time")]
    #[test_case("Wed, 02 Dec 2026 11:58:30 GMT", Some(90); "ahead")]
    #[test_case("Wed, 02 Dec 2026 14:00:00 GMT", Some(-7200); "behind")]
    #[test_case("yesterday", None; "no date")]
    #[test_case("", None; "nothing")]
    fn compares_itself_with_an_answers_date(date: &str, expected: Option<i64>) {
        let now = "2026-12-02T12:00:00Z".parse().unwrap();
        assert_eq!(ahead(date, now).map(|it| it.as_secs()), expected);
    }

    #[test_case(0 => false; "right")]
    #[test_case(-59 => false; "harmless")]
    #[test_case(60 => true; "ahead")]
    #[test_case(-7200 => true; "behind")]
    fn tells_of_a_difference_that_matters(seconds: i64) -> bool {
        explain(SignedDuration::from_secs(seconds)).is_some_and(|it| it.contains("chrony"))
    }
}
