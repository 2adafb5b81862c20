//! Which instances EC2 is asked about, and what its answer is worth.
//!
//! An instance that EC2 does not know may be one that it does not know yet, or one of an account, a region or a policy that
//! we got wrong. So it is gone only when it is not found twice and was seen first ten minutes ago; and if many vanish at
//! once, something else is wrong and nothing is freed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::config::{Config, Eligibility, Known};
use crate::worker::{Described, State, Wish, Worker};

/// EC2's own lists may be this late.
const KNOWN_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// So many times in a row an instance must be missing.
const TIMES: u32 = 2;

/// A fifth of all, and more than two.
const SHARE: usize = 5;
const FEW: usize = 2;

/// How often in a row an instance was not found.
pub(crate) type Missed = BTreeMap<String, u32>;

/// A Worker that is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    worker: &'a Worker,
    /// The account and region that it is known to be of; an adopted one is asked about everywhere.
    place: Option<(&'a str, &'a str)>,
}

impl Subject<'_> {
    pub(crate) fn id(&self) -> String {
        self.worker.spec.instance_id.clone()
    }

    pub(crate) fn may_be_of(&self, account: &str) -> bool {
        self.place.is_none_or(|it| it.0 == account)
    }

    pub(crate) fn may_be_in(&self, region: &str) -> bool {
        self.place.is_none_or(|it| it.1 == region)
    }

    fn described(&self) -> Option<&Described> {
        self.worker.status.as_ref()?.described.as_ref()
    }

    /// Whether EC2 must know it by now.
    fn is_old(&self, now: Timestamp) -> bool {
        let created = self.worker.metadata.creation_timestamp.as_ref();
        created.is_some_and(|it| now.duration_since(it.0) >= KNOWN_AFTER)
    }
}

/// Why an instance is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Terminated,
    Vanished,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminated => "EC2 says `terminated`",
            Self::Vanished => "EC2 has not known it twice",
        })
    }
}

/// What follows from an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) describe: Vec<(String, Described)>,
    pub(crate) gone: Vec<(String, Gone)>,
    pub(crate) alarm: Option<String>,
}

/// The Workers to ask about: all that are not gone, or those whose node group only EC2 can tell. What lies in a region that
/// no node group lists any more is not asked about.
pub(crate) fn subjects<'a>(workers: &'a [Arc<Worker>], config: &Config, whole: bool) -> Vec<Subject<'a>> {
    let wanted = |worker: &Worker| {
        let known = worker.status.as_ref().and_then(Known::of);
        whole || known.is_some_and(|it| matches!(config.eligibility(&it), Eligibility::Undescribed))
    };
    let living = workers.iter().filter(|it| it.spec.wished == Wish::Running);
    let subjects = living.filter(|it| wanted(it)).map(|worker| Subject {
        worker,
        place: worker
            .status
            .as_ref()
            .and_then(Known::of)
            .map(|it| (it.account, it.region)),
    });
    subjects
        .filter(|it| it.place.is_none_or(|(_, region)| config.lists_region(region)))
        .collect()
}

/// Decides. `found` is all that EC2 knows of `asked`; without `missed` it was asked about a few, and nobody is missed.
pub(crate) fn decide(
    asked: &[Subject<'_>],
    found: &BTreeMap<String, Described>,
    missed: Option<&mut Missed>,
    now: Timestamp,
) -> Verdict {
    let mut verdict = Verdict::default();
    for subject in asked {
        let Some(described) = found.get(&subject.worker.spec.instance_id) else {
            continue;
        };
        if subject.described().is_none_or(|it| changed(it, described)) {
            verdict.describe.push((subject.id(), described.clone()));
        }
        if described.state == State::Terminated {
            verdict.gone.push((subject.id(), Gone::Terminated));
        }
    }
    if let Some(missed) = missed {
        miss(&mut verdict, asked, found, missed, now);
    }
    verdict
}

fn miss(
    verdict: &mut Verdict,
    asked: &[Subject<'_>],
    found: &BTreeMap<String, Described>,
    missed: &mut Missed,
    now: Timestamp,
) {
    let missing = asked
        .iter()
        .filter(|it| !found.contains_key(&it.worker.spec.instance_id) && it.is_old(now));
    let missing: BTreeSet<String> = missing.map(Subject::id).collect();
    missed.retain(|id, _| missing.contains(id));
    for id in &missing {
        *missed.entry(id.clone()).or_default() += 1;
    }
    if missing.len() > FEW && missing.len() * SHARE > asked.len() {
        verdict.gone.clear();
        // An answer that is not believed is no evidence later either.
        missed.clear();
        verdict.alarm = Some(format!(
            "EC2 knows nothing of {} of {} instances at once, so nothing is freed; look at the credentials and the regions of \
             the node groups, or release the Workers with `dynk8s-provisioner workers release`",
            missing.len(),
            asked.len()
        ));
        return;
    }
    let vanished = missed.iter().filter(|(_, times)| **times >= TIMES);
    verdict
        .gone
        .extend(vanished.map(|(id, _)| (id.clone(), Gone::Vanished)));
}

/// Whether anything but the time differs.
fn changed(before: &Described, after: &Described) -> bool {
    let same_time = Described {
        time: before.time,
        ..after.clone()
    };
    *before != same_time
}
