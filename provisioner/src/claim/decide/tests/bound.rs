//! Claims after the first: of the same keys, with a reset, and of others.

use dynk8s_api::PrivateKey;
use dynk8s_api::problem::Reason;
use test_case::test_case;

use super::case::{Case, ago, announced, now, refused};
use crate::claim::decide::{Change, Step};
use crate::worker::{State, Wish};

#[test]
fn a_later_start_of_the_same_claim_is_written_down() {
    let mut case = Case::bound();
    case.asked.document.as_mut().unwrap().pending = ago(10);
    assert_eq!(case.decide(), Step::Record(Change::Restarted(ago(10))));
    case.status().joined = Some(ago(20));
    assert_eq!(refused(&case.decide()), Some(Reason::AlreadyJoined));
}

#[test_case(State::Pending, None; "pending")]
#[test_case(State::Running, None; "running")]
#[test_case(State::Stopping, Some(Reason::NotYet); "stopping")]
#[test_case(State::Stopped, Some(Reason::NotYet); "stopped")]
#[test_case(State::ShuttingDown, Some(Reason::NotYet); "shutting down")]
#[test_case(State::Terminated, Some(Reason::Gone); "terminated")]
fn only_what_runs_is_served(state: State, reason: Option<Reason>) {
    for mut case in [Case::new(), Case::bound()] {
        case.status().announced = Some(announced(state));
        assert_eq!(refused(&case.decide()), reason);
    }
}

#[test]
fn nothing_raises_the_dead() {
    for mut case in [Case::new(), Case::bound()] {
        case.worker.spec.wished = Wish::Gone;
        assert_eq!(refused(&case.decide_proven()), Some(Reason::Gone));
    }
}

/// Between the two writes of an announced end nobody can tell yet whose word it is.
#[test]
fn an_end_of_which_nobody_knows_who_said_so_is_not_told() {
    let mut case = Case::new();
    case.worker.spec.wished = Wish::Gone;
    case.status().announced = None;
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotYet));
}

#[test]
fn the_bound_key_needs_no_proof() {
    assert_eq!(Case::bound().decide(), Step::Serve(2));
}

#[test]
fn before_there_is_anything_the_first_generation_is_waited_for() {
    let mut case = Case::bound();
    case.status().generation = None;
    assert_eq!(case.decide(), Step::Serve(1));
}

#[test]
fn a_claim_that_is_made_again_after_five_minutes_is_dated_anew() {
    let mut case = Case::bound();
    case.status().claim.as_mut().unwrap().time = ago(300);
    assert_eq!(case.decide(), Step::Record(Change::Renewed(now())));
}

#[test_case(None, None, &Step::Serve(2); "no reset")]
#[test_case(None, Some(2), &Step::Record(Change::Reset(2)); "the current one is reset")]
#[test_case(Some(2), Some(2), &Step::Serve(3); "the same reset again")]
#[test_case(Some(2), None, &Step::Serve(3); "the reset is forgotten by the agent")]
#[test_case(Some(1), Some(1), &Step::Serve(2); "a reset that was served")]
#[test_case(None, Some(1), &Step::Serve(2); "a reset that was served before a restore")]
fn a_reset_is_written_once_and_served_ever_after(before: Option<u32>, reset: Option<u32>, step: &Step) {
    let mut case = Case::bound();
    case.status().claim.as_mut().unwrap().reset = before;
    case.asked.request.reset = reset;
    assert_eq!(&case.decide(), step);
}

#[test_case(Some(2), 3; "one that is not yet")]
#[test_case(Some(2), 0; "none")]
#[test_case(None, 1; "one before the first")]
fn a_reset_of_what_was_never_handed_out_is_malformed(generation: Option<u32>, reset: u32) {
    let mut case = Case::bound();
    case.status().generation = generation;
    case.asked.request.reset = Some(reset);
    assert_eq!(refused(&case.decide()), Some(Reason::Malformed));
    let mut case = Case::new();
    case.asked.request.reset = Some(reset);
    assert_eq!(refused(&case.decide_proven()), Some(Reason::Malformed));
}

#[test_case(true; "another claim key")]
#[test_case(false; "another kubelet key")]
fn another_key_contests_the_claim_only_by_a_proof_and_only_before_the_join(other_claim_key: bool) {
    let mut case = Case::bound();
    if other_claim_key {
        case.asked.sender = PrivateKey::generate().public();
    } else {
        case.asked.request.kubelet_key = [2; 32];
    }
    assert_eq!(case.decide(), Step::Prove);
    assert_eq!(case.decide_proven(), Step::Record(Change::Contested(now())));
    case.status().joined = Some(ago(10));
    assert_eq!(case.decide(), Step::Prove);
    assert_eq!(case.decide_proven(), Step::Record(Change::Rejected(now())));
    case.status().rejected = Some(now());
    assert_eq!(refused(&case.decide_proven()), Some(Reason::AnotherKey));
}

#[test_case(0, false; "just now")]
#[test_case(599, false; "a while ago")]
#[test_case(600, true; "long ago")]
#[test_case(-599, false; "by a clock that was a little ahead")]
#[test_case(-600, true; "by a clock that was far ahead")]
fn a_thief_after_the_join_is_noted_once_in_ten_minutes(noted: i64, again: bool) {
    let mut case = Case::bound();
    case.asked.sender = PrivateKey::generate().public();
    case.status().joined = Some(ago(3600));
    case.status().rejected = Some(ago(noted));
    let step = case.decide_proven();
    assert_eq!(step == Step::Record(Change::Rejected(now())), again);
    assert_eq!(refused(&step) == Some(Reason::AnotherKey), !again);
}
