use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use test_case::test_case;

use super::{Gone, Missed, Verdict, decide, subjects};
use crate::config::Config;
use crate::worker::tests::described;
use crate::worker::{Announced, Described, State, Wish, Worker, WorkerSpec, WorkerStatus};

fn now() -> Timestamp {
    "2026-12-02T12:00:00Z".parse().unwrap()
}

fn config() -> Config {
    toml::from_str(include_str!("../../../testdata/groups.toml")).unwrap()
}

fn name(number: usize) -> String {
    format!("i-{number:08x}")
}

/// Announced this many minutes ago.
fn worker(number: usize, minutes: i64) -> Worker {
    let created = now() - SignedDuration::from_mins(minutes);
    let spec = WorkerSpec {
        instance_id: name(number),
        wished: Wish::Running,
        forced: false,
    };
    let mut worker = Worker::new(&name(number), spec);
    worker.metadata.creation_timestamp = Some(Time(created));
    worker.status = Some(WorkerStatus {
        announced: Some(Announced {
            state: State::Running,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            time: created,
        }),
        ..WorkerStatus::default()
    });
    worker
}

struct Scene {
    workers: Vec<Arc<Worker>>,
    found: BTreeMap<String, Described>,
    missed: Missed,
}

impl Scene {
    /// So many instances, all old and all found.
    fn of(count: usize) -> Self {
        Self {
            workers: (1..=count).map(|it| Arc::new(worker(it, 60))).collect(),
            found: (1..=count).map(|it| (name(it), described())).collect(),
            missed: Missed::default(),
        }
    }

    fn lose(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.found.remove(&name(number));
        }
    }

    fn pass(&mut self) -> Verdict {
        let config = config();
        let asked = subjects(&self.workers, &config, true);
        decide(&asked, &self.found, Some(&mut self.missed), now())
    }
}

#[test]
fn what_is_terminated_is_gone_at_once() {
    let mut scene = Scene::of(2);
    scene.found.get_mut(&name(1)).unwrap().state = State::Terminated;
    let verdict = scene.pass();
    assert_eq!(verdict.gone, [(name(1), Gone::Terminated)]);
    assert_eq!(verdict.alarm, None);
}

#[test_case(State::Pending)]
#[test_case(State::Running)]
#[test_case(State::Stopping)]
#[test_case(State::Stopped)]
#[test_case(State::ShuttingDown)]
fn in_any_other_state_it_is_there(state: State) {
    let mut scene = Scene::of(1);
    scene.found.get_mut(&name(1)).unwrap().state = state;
    assert!(scene.pass().gone.is_empty() && scene.pass().gone.is_empty());
}

#[test]
fn what_is_not_found_twice_in_a_row_is_gone() {
    let mut scene = Scene::of(10);
    scene.lose([3]);
    assert!(scene.pass().gone.is_empty());
    assert_eq!(scene.pass().gone, [(name(3), Gone::Vanished)]);
}

#[test]
fn what_is_found_in_between_is_not_gone() {
    let mut scene = Scene::of(10);
    for _ in 0..3 {
        scene.lose([3]);
        assert!(scene.pass().gone.is_empty());
        scene.found.insert(name(3), described());
        assert!(scene.pass().gone.is_empty());
    }
}

#[test_case(9, false; "EC2 may not know it yet")]
#[test_case(10, true; "EC2 must know it")]
fn the_young_are_not_missed(minutes: i64, gone: bool) {
    let mut scene = Scene::of(10);
    scene.workers.push(Arc::new(worker(11, minutes)));
    scene.pass();
    assert_eq!(!scene.pass().gone.is_empty(), gone);
}

#[test_case(2, 2, true; "two are few, though they are all")]
#[test_case(3, 3, false; "three of three")]
#[test_case(15, 3, true; "a fifth")]
#[test_case(14, 3, false; "more than a fifth")]
#[test_case(100, 20, true; "a fifth of many")]
#[test_case(100, 21, false; "more than a fifth of many")]
#[test_case(100, 100, false; "an empty answer")]
fn if_many_vanish_at_once_nothing_is_freed(count: usize, lost: usize, freed: bool) {
    let mut scene = Scene::of(count);
    scene.lose(1..=lost);
    for _ in 0..3 {
        let alarm = scene.pass().alarm;
        assert_eq!(alarm.is_none(), freed, "{alarm:?}");
    }
    assert_eq!(scene.pass().gone.len(), if freed { lost } else { 0 });
}

#[test]
fn what_was_missed_in_an_answer_that_is_not_believed_does_not_count() {
    let mut scene = Scene::of(10);
    let all = scene.found.clone();
    scene.lose(1..=10);
    for _ in 0..3 {
        assert!(scene.pass().alarm.is_some());
    }
    scene.found = all;
    scene.lose([1]);
    let first = scene.pass();
    assert!(
        first.gone.is_empty() && first.alarm.is_none(),
        "the first time: {first:?}"
    );
    assert_eq!(scene.pass().gone, [(name(1), Gone::Vanished)], "the second time");
}

#[test]
fn what_is_terminated_waits_too_while_too_many_have_vanished() {
    let mut scene = Scene::of(10);
    scene.found.get_mut(&name(1)).unwrap().state = State::Terminated;
    scene.lose(2..=6);
    let verdict = scene.pass();
    assert!(verdict.gone.is_empty() && verdict.alarm.is_some());
}

#[test]
fn many_that_are_terminated_are_gone() {
    let mut scene = Scene::of(10);
    for found in scene.found.values_mut() {
        found.state = State::Terminated;
    }
    assert_eq!(scene.pass().gone.len(), 10);
}

#[test]
fn a_question_about_a_few_misses_nobody() {
    let mut scene = Scene::of(1);
    scene.lose([1]);
    let config = config();
    let asked = subjects(&scene.workers, &config, true);
    for _ in 0..3 {
        assert_eq!(decide(&asked, &scene.found, None, now()), Verdict::default());
    }
}

#[test]
fn a_description_is_written_only_when_it_changes() {
    let mut scene = Scene::of(1);
    assert_eq!(scene.pass().describe, [(name(1), described())]);
    let mut known = worker(1, 60);
    known.status.as_mut().unwrap().described = Some(described());
    scene.workers = vec![Arc::new(known)];
    scene.found.get_mut(&name(1)).unwrap().time = now();
    assert!(scene.pass().describe.is_empty(), "only the time differs");
    scene.found.get_mut(&name(1)).unwrap().state = State::Stopped;
    assert_eq!(scene.pass().describe.len(), 1);
}

#[test]
fn all_that_are_not_gone_are_asked_about_or_those_that_wait_for_it() {
    let config = config();
    let mut gone = worker(1, 60);
    gone.spec.wished = Wish::Gone;
    let mut known = worker(2, 60);
    known.status.as_mut().unwrap().described = Some(described());
    let mut adopted = worker(3, 60);
    adopted.status = None;
    let mut elsewhere = worker(4, 60);
    elsewhere.status.as_mut().unwrap().announced.as_mut().unwrap().region = "us-east-1".to_owned();
    let waiting = worker(5, 0);
    let workers: Vec<_> = [gone, known, adopted, elsewhere, waiting].map(Arc::new).into();
    let asked = |whole| {
        subjects(&workers, &config, whole)
            .iter()
            .map(super::Subject::id)
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(true), [name(2), name(3), name(5)]);
    assert_eq!(asked(false), [name(5)]);
}

#[test]
fn an_adopted_one_is_asked_about_everywhere_and_others_where_they_are() {
    let config = config();
    let mut adopted = worker(1, 60);
    adopted.status = None;
    let workers = [Arc::new(adopted), Arc::new(worker(2, 60))];
    let asked = subjects(&workers, &config, true);
    let places = |region| asked.iter().map(|it| it.may_be_in(region)).collect::<Vec<_>>();
    assert_eq!(
        (places("eu-west-1"), places("eu-central-1")),
        (vec![true, false], vec![true, true])
    );
    assert!(asked[0].may_be_of("999999999999") && !asked[1].may_be_of("999999999999"));
}
