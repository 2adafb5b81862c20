//! What is remembered of certificates, so that no message costs a request that another one has made already.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use url::Url;

use crate::sns::signature::SignerKey;

/// A region has one certificate, and a second one while it is renewed.
const KEYS: usize = 16;

/// Names that lead to nothing: whoever makes them up can make up any number.
const FAILURES: usize = 256;

/// How long a name that led to nothing is not asked for again: less than the 20 s after which SNS repeats a delivery,
/// should the name be right and the network have been in trouble.
const FAILURE_LASTS: SignedDuration = SignedDuration::from_secs(15);

/// Requests that may fail at once, and how long until there may be one more.
const ALLOWANCE: u32 = 60;
const REFILL: SignedDuration = SignedDuration::from_secs(1);

/// Keys that were found good, names that led to nothing, and how many more may be tried.
#[derive(Debug)]
pub(super) struct Memory {
    keys: Recent<Arc<SignerKey>>,
    failures: Recent<Timestamp>,
    allowance: Allowance,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            keys: Recent::new(KEYS),
            failures: Recent::new(FAILURES),
            allowance: Allowance {
                left: ALLOWANCE,
                since: Timestamp::UNIX_EPOCH,
            },
        }
    }
}

/// What to do about a certificate.
#[derive(Debug)]
pub(super) enum Advice {
    /// Its key is known, and it is valid.
    Known(Arc<SignerKey>),
    /// It may be fetched.
    Fetch,
    /// It led to nothing a moment ago.
    Failed,
    /// Too many others led to nothing.
    Wait,
}

impl Memory {
    pub(super) fn advice(&mut self, url: &Url, now: Timestamp) -> Advice {
        if let Some(key) = self.keys.get(url).filter(|it| it.is_valid_at(now)) {
            return Advice::Known(Arc::clone(key));
        }
        // Of a failure that lies in the future the clock was set back since.
        let recent = |at: &Timestamp| now.duration_since(*at).abs() < FAILURE_LASTS;
        if self.failures.get(url).is_some_and(recent) {
            return Advice::Failed;
        }
        if self.allowance.is_used_up(now) {
            return Advice::Wait;
        }
        Advice::Fetch
    }

    /// A request is made, which may fail.
    pub(super) fn begins(&mut self) {
        self.allowance.use_one();
    }

    pub(super) fn succeeded(&mut self, url: &Url, key: Arc<SignerKey>) {
        self.allowance.give_one_back();
        self.keys.put(url.clone(), key);
    }

    pub(super) fn failed(&mut self, url: &Url, now: Timestamp) {
        self.failures.put(url.clone(), now);
    }
}

/// So many failures at once, and then one in a while.
#[derive(Debug)]
struct Allowance {
    left: u32,
    since: Timestamp,
}

impl Allowance {
    fn is_used_up(&mut self, now: Timestamp) -> bool {
        let elapsed = now.duration_since(self.since);
        let more = elapsed.as_millis() / REFILL.as_millis();
        if elapsed.is_negative() {
            self.since = now;
        } else if more > 0 {
            self.left = u32::try_from(more).map_or(ALLOWANCE, |it| self.left.saturating_add(it).min(ALLOWANCE));
            self.since = now;
        }
        self.left == 0
    }

    fn use_one(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn give_one_back(&mut self) {
        self.left = (self.left + 1).min(ALLOWANCE);
    }
}

/// At most so many values by URL; what was not asked for longest makes room.
#[derive(Debug)]
struct Recent<T> {
    entries: VecDeque<(Url, T)>,
    capacity: usize,
}

impl<T> Recent<T> {
    fn new(capacity: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            capacity,
        }
    }

    fn get(&mut self, url: &Url) -> Option<&T> {
        let at = self.entries.iter().position(|(it, _)| it == url)?;
        let entry = self.entries.remove(at)?;
        self.entries.push_front(entry);
        self.entries.front().map(|(_, value)| value)
    }

    fn put(&mut self, url: Url, value: T) {
        self.entries.retain(|(it, _)| *it != url);
        self.entries.push_front((url, value));
        self.entries.truncate(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use url::Url;

    use super::{ALLOWANCE, Advice, FAILURES, Memory, Recent};

    fn url(number: usize) -> Url {
        Url::parse(&format!("https://sns.eu-central-1.amazonaws.com/{number}")).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn a_name_that_led_to_nothing_is_asked_for_again_after_a_while() {
        let mut memory = Memory::default();
        assert!(matches!(memory.advice(&url(1), at(0)), Advice::Fetch));
        memory.failed(&url(1), at(0));
        assert!(matches!(memory.advice(&url(1), at(14)), Advice::Failed));
        assert!(matches!(memory.advice(&url(2), at(14)), Advice::Fetch));
        assert!(matches!(memory.advice(&url(1), at(15)), Advice::Fetch));
        assert!(
            matches!(memory.advice(&url(1), at(-3600)), Advice::Fetch),
            "a clock that is set back shuts nothing out"
        );
    }

    #[test]
    fn made_up_names_use_up_their_allowance_and_it_comes_back() {
        let mut memory = Memory::default();
        for number in 0..ALLOWANCE as usize {
            assert!(matches!(memory.advice(&url(number), at(0)), Advice::Fetch));
            // Whether it is heard how it ended or not.
            memory.begins();
        }
        assert!(matches!(memory.advice(&url(1000), at(0)), Advice::Wait));
        assert!(matches!(memory.advice(&url(1000), at(1)), Advice::Fetch));
        memory.begins();
        assert!(matches!(memory.advice(&url(1001), at(1)), Advice::Wait));
        assert!(matches!(memory.advice(&url(1001), at(-3600)), Advice::Wait));
        assert!(matches!(memory.advice(&url(1001), at(-3599)), Advice::Fetch));
    }

    #[test]
    fn names_are_remembered_in_bounds() {
        let mut memory = Memory::default();
        for number in 0..10_000 {
            memory.failed(&url(number), at(0));
        }
        assert_eq!(memory.failures.entries.len(), FAILURES);
    }

    #[test]
    fn what_was_not_asked_for_longest_makes_room() {
        let mut recent = Recent::new(2);
        recent.put(url(1), 'a');
        recent.put(url(2), 'b');
        assert_eq!(recent.get(&url(1)), Some(&'a'));
        recent.put(url(3), 'c');
        assert_eq!(recent.get(&url(2)), None);
        assert_eq!(recent.get(&url(1)), Some(&'a'));
        recent.put(url(1), 'd');
        assert_eq!(recent.get(&url(1)), Some(&'d'));
        assert_eq!(recent.entries.len(), 2);
    }
}
