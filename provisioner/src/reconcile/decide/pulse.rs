//! Whether a kubelet lives, from its Lease. The times in it are of the node's clock, and whoever has the node writes what he likes:
//! what counts is when it changed, as we have seen it.

use std::collections::HashMap;
use std::time::Duration;

/// How long a Lease may stay as it is: a kubelet renews it every 10 s, and Kubernetes gives a node up after as long.
pub(super) const HOLDS: Duration = Duration::from_secs(40);

/// What has been seen of one Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// For how long it has been as it is.
    pub(super) quiet: Duration,
    /// Whether it has changed since it is looked at.
    pub(super) beats: bool,
}

impl Pulse {
    /// For how long the kubelet must still be taken for alive.
    pub(super) fn lasts(self) -> Duration {
        HOLDS.saturating_sub(self.quiet)
    }
}

/// What is remembered of the Leases of Nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulses(HashMap<String, Known>);

#[derive(Clone, Debug)]
struct Known {
    version: Option<String>,
    since: Duration,
    beats: bool,
}

impl Pulses {
    /// Notes that the Lease of a Node has this resource version, or that there is none; `at` is of a clock that is never set.
    pub(crate) fn note(&mut self, node: &str, version: Option<&str>, at: Duration) -> Pulse {
        let fresh = |beats| Known {
            version: version.map(str::to_owned),
            since: at,
            beats,
        };
        let known = self.0.entry(node.to_owned()).or_insert_with(|| fresh(false));
        if known.version.as_deref() != version {
            *known = fresh(true);
        }
        Pulse {
            quiet: at.saturating_sub(known.since),
            beats: known.beats,
        }
    }

    pub(crate) fn forget(&mut self, node: &str) {
        self.0.remove(node);
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// Looks at seconds, with what the Lease was then.
    #[test_case(&[(0, Some("1"))], (0, false); "the first look knows nothing")]
    #[test_case(&[(0, Some("1")), (39, Some("1"))], (39, false); "nothing has changed")]
    #[test_case(&[(0, Some("1")), (9, Some("2"))], (0, true); "it was renewed")]
    #[test_case(&[(0, Some("1")), (9, Some("2")), (50, Some("2"))], (41, true); "it was, and is not any more")]
    #[test_case(&[(0, None), (50, None)], (50, false); "there is none")]
    #[test_case(&[(0, None), (50, Some("1"))], (0, true); "it is made")]
    #[test_case(&[(0, Some("1")), (50, None)], (0, true); "it is deleted, as before a kubelet makes it again")]
    fn a_lease_is_quiet_since_it_changed(looks: &[(u64, Option<&str>)], (quiet, beats): (u64, bool)) {
        let mut pulses = Pulses::default();
        let mut note = |(at, version): &(u64, Option<&str>)| pulses.note("node", *version, Duration::from_secs(*at));
        let last = looks.iter().map(&mut note).last().unwrap();
        assert_eq!((last.quiet, last.beats), (Duration::from_secs(quiet), beats));
    }

    #[test]
    fn what_is_forgotten_is_looked_at_afresh() {
        let mut pulses = Pulses::default();
        let second = Duration::from_secs(1);
        pulses.note("node", None, Duration::ZERO);
        assert_eq!(pulses.note("other", None, second).quiet, Duration::ZERO);
        pulses.forget("node");
        assert_eq!(pulses.note("node", None, second).quiet, Duration::ZERO);
    }
}
