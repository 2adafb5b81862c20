//! Whether EC2 has told who is right since the labels of keys and the Workers contradicted each other.

use std::time::{Duration, Instant};

use crate::reconcile::Agreement;

/// Until then each instance that a key names has its Worker again, so that EC2 is asked about it as well.
const ADOPTED_WITHIN: Duration = Duration::from_secs(10);

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Settling {
    seen: Option<Agreement>,
    /// Whether EC2 has ever been asked about all instances.
    asked_once: bool,
    /// When they were last seen to begin, or to end, contradicting each other, if EC2 has not been asked since.
    turned: Option<Instant>,
}

impl Settling {
    /// Notes what is seen now, and tells whether it is settled. That two Workers claim a key is a sign of old data only at the
    /// start: later two passes that ran at the same time may have chosen the same one.
    pub(super) fn see(&mut self, seen: Agreement, now: Instant) -> bool {
        let counts = match seen {
            Agreement::Whole => false,
            Agreement::Doubled => !self.asked_once,
            Agreement::Unknown => true,
        };
        if self.seen != Some(seen) && (counts || self.seen == Some(Agreement::Unknown)) {
            self.turned = Some(now);
        }
        self.seen = Some(seen);
        self.turned.is_none()
    }

    /// Whether EC2 should be asked about all instances now.
    pub(super) fn asks(&self, now: Instant) -> bool {
        self.turned
            .is_some_and(|it| now.saturating_duration_since(it) >= ADOPTED_WITHIN)
    }

    /// EC2 has been asked about all instances, from this moment on.
    pub(super) fn asked(&mut self, began: Instant) {
        self.asked_once = true;
        if self.asks(began) {
            self.turned = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::Agreement::{Doubled, Unknown, Whole};

    #[test]
    fn what_agrees_is_settled() {
        let (mut settling, now) = (Settling::default(), Instant::now());
        assert!(settling.see(Whole, now));
        assert!(!settling.asks(now + Duration::from_hours(1)));
    }

    #[test]
    fn a_contradiction_is_settled_by_a_question_that_comes_after_the_adoption() {
        let (mut settling, begin) = (Settling::default(), Instant::now());
        let second = |it| begin + Duration::from_secs(it);
        settling.asked(second(0));
        assert!(
            !settling.see(Unknown, second(100)),
            "an earlier question counts for nothing"
        );
        settling.asked(second(99));
        settling.asked(second(109));
        assert!(!settling.asks(second(109)) && settling.asks(second(110)));
        assert!(!settling.see(Unknown, second(115)));
        settling.asked(second(110));
        assert!(settling.see(Unknown, second(120)), "it lasts, and EC2 has been asked");
    }

    #[test]
    fn that_they_agree_again_does_not_settle_it() {
        let (mut settling, begin) = (Settling::default(), Instant::now());
        let second = |it| begin + Duration::from_secs(it);
        settling.see(Unknown, second(0));
        assert!(!settling.see(Whole, second(5)), "adopted, and nobody asked");
        settling.asked(second(11));
        assert!(!settling.see(Whole, second(12)));
        settling.asked(second(15));
        assert!(settling.see(Whole, second(16)));
    }

    #[test]
    fn two_passes_that_chose_one_key_hold_nobody_up_but_old_data_do() {
        let (mut settling, begin) = (Settling::default(), Instant::now());
        let second = |it| begin + Duration::from_secs(it);
        assert!(!settling.see(Doubled, second(0)), "whose it is nobody has told yet");
        settling.asked(second(11));
        assert!(settling.see(Doubled, second(12)));
        assert!(settling.see(Whole, second(13)) && settling.see(Doubled, second(14)));
        assert!(!settling.see(Unknown, second(15)) && !settling.see(Doubled, second(16)));
    }
}
