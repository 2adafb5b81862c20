//! Whether EC2 has told who is right since the labels of keys and the Workers contradicted each other.

use std::time::{Duration, Instant};

/// Until then each instance that a key names has its Worker again, so that EC2 is asked about it as well.
const ADOPTED_WITHIN: Duration = Duration::from_secs(10);

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Settling {
    contradict: bool,
    /// When they were last seen to begin, or to end, contradicting each other, if EC2 has not been asked since.
    turned: Option<Instant>,
}

impl Settling {
    /// Notes what is seen now, and tells whether it is settled.
    pub(super) fn see(&mut self, contradict: bool, now: Instant) -> bool {
        if self.contradict != contradict {
            self.contradict = contradict;
            self.turned = Some(now);
        }
        self.turned.is_none()
    }

    /// Whether EC2 should be asked about all instances now.
    pub(super) fn asks(&self, now: Instant) -> bool {
        self.turned
            .is_some_and(|it| now.saturating_duration_since(it) >= ADOPTED_WITHIN)
    }

    /// EC2 has been asked about all instances, from this moment on.
    pub(super) fn asked(&mut self, began: Instant) {
        if self.asks(began) {
            self.turned = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agrees_is_settled() {
        let (mut settling, now) = (Settling::default(), Instant::now());
        assert!(settling.see(false, now));
        assert!(!settling.asks(now + Duration::from_hours(1)));
    }

    #[test]
    fn a_contradiction_is_settled_by_a_question_that_comes_after_the_adoption() {
        let (mut settling, begin) = (Settling::default(), Instant::now());
        let second = |it| begin + Duration::from_secs(it);
        settling.asked(second(0));
        assert!(
            !settling.see(true, second(100)),
            "an earlier question counts for nothing"
        );
        settling.asked(second(99));
        settling.asked(second(109));
        assert!(!settling.asks(second(109)) && settling.asks(second(110)));
        assert!(!settling.see(true, second(115)));
        settling.asked(second(110));
        assert!(settling.see(true, second(120)), "it lasts, and EC2 has been asked");
    }

    #[test]
    fn that_they_agree_again_does_not_settle_it() {
        let (mut settling, begin) = (Settling::default(), Instant::now());
        let second = |it| begin + Duration::from_secs(it);
        settling.see(true, second(0));
        assert!(!settling.see(false, second(5)), "adopted, and nobody asked");
        settling.asked(second(11));
        assert!(!settling.see(false, second(12)));
        settling.asked(second(15));
        assert!(settling.see(false, second(16)));
    }
}
