//! The first claim: who is bound to his keys, and who waits or is refused.

use dynk8s_api::PrivateKey;
use dynk8s_api::problem::Reason;
use test_case::test_case;

use super::case::{Case, SAMPLE, ago, announced, attested, identity, now, refused};
use crate::claim::decide::{Change, Step, decide};
use crate::proof::Identity;
use crate::worker::tests::described;
use crate::worker::{State, Wish, WorkerSpec};

const ROLE: &str = "role = { name = \"node\", unique_id = \"AROA0123456789ABCDEF\" }\n[node_group.labels]";

#[test]
fn an_announced_instance_that_proves_itself_is_bound_to_its_keys() {
    let case = Case::new();
    assert_eq!(case.decide(), Step::Prove);
    let Step::Record(Change::Bound(attested, claim)) = case.decide_proven() else {
        panic!("{:?}", case.decide_proven());
    };
    assert_eq!((attested.account.as_str(), attested.time), ("123456789012", now()));
    assert_eq!(
        (claim.key, claim.kubelet_key),
        (case.key.to_string(), case.asked.kubelet_key())
    );
}

#[test]
fn an_unknown_instance_gets_a_worker_only_by_a_proof() {
    let case = Case::new();
    let decide = |proven: Option<&_>| decide(None, &case.asked, proven, &case.config, now());
    assert_eq!(decide(None), Step::Prove);
    assert_eq!(decide(Some(&identity())), Step::Create);
    let stranger = Identity {
        account: "999999999999".to_owned(),
        ..identity()
    };
    assert_eq!(refused(&decide(Some(&stranger))), Some(Reason::NotEligible));
}

#[test]
fn an_unannounced_instance_is_attested_and_waits_and_then_a_proof_suffices() {
    let mut case = Case::new();
    case.status().announced = None;
    assert_eq!(case.decide_proven(), Step::Record(Change::Attested(attested(0))));
    case.status().attested = Some(attested(59));
    assert_eq!(
        refused(&case.decide()),
        Some(Reason::NotAnnounced),
        "STS is not asked meanwhile"
    );
    case.status().attested = Some(attested(60));
    assert_eq!(case.decide(), Step::Prove);
    let step = case.decide_proven();
    assert!(
        matches!(&step, Step::Record(Change::Bound(it, _)) if it.time == ago(60)),
        "{step:?}"
    );
}

#[test]
fn where_an_announcement_is_required_no_proof_makes_up_for_it() {
    let mut case = Case::new();
    case.config.sns.require_announcement = true;
    assert!(matches!(case.decide_proven(), Step::Record(Change::Bound(..))));
    case.status().announced = None;
    assert_eq!(case.decide_proven(), Step::Record(Change::Attested(attested(0))));
    case.status().attested = Some(attested(3600));
    assert_eq!(refused(&case.decide()), Some(Reason::NotAnnounced));
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotAnnounced));
    case.status().announced = Some(announced(State::Running));
    assert!(matches!(case.decide_proven(), Step::Record(Change::Bound(..))));
}

#[test]
fn the_start_and_the_role_are_written_down() {
    let mut case = Case::new();
    case.config = toml::from_str(&SAMPLE.replace("[node_group.labels]", ROLE)).unwrap();
    let identity = Identity {
        role: Some("node".to_owned()),
        ..identity()
    };
    let step = decide(Some(&case.worker), &case.asked, Some(&identity), &case.config, now());
    let Step::Record(Change::Bound(attested, _)) = step else {
        panic!("{step:?}");
    };
    assert_eq!(
        (attested.role.as_deref(), attested.pending_time),
        (Some("node"), Some(ago(90)))
    );
    assert_eq!(
        refused(&case.decide_proven()),
        Some(Reason::NotEligible),
        "its own role"
    );
}

#[test_case(Case::new(); "unbound")]
#[test_case(Case::bound(); "bound")]
fn a_document_of_an_earlier_start_is_refused(mut case: Case) {
    case.status().attested = Some(attested(60));
    case.asked.document.as_mut().unwrap().pending = ago(91);
    assert_eq!(refused(&case.decide()), Some(Reason::NotProven));
    case.asked.sender = PrivateKey::generate().public();
    assert_eq!(
        refused(&case.decide_proven()),
        Some(Reason::NotProven),
        "nor does it contest"
    );
}

#[test_case(90, None; "of the announced start")]
#[test_case(2000, Some(Reason::NotProven); "of an earlier start")]
#[test_case(-300, Some(Reason::NotAnnounced); "of a start that is not announced yet")]
fn the_first_claim_is_compared_with_the_announcement(started: i64, reason: Option<Reason>) {
    let mut case = Case::new();
    let identity = Identity {
        pending: Some(ago(started)),
        ..identity()
    };
    let decide = |case: &Case| decide(Some(&case.worker), &case.asked, Some(&identity), &case.config, now());
    assert_eq!(refused(&decide(&case)), reason);
    case.status().announced = None;
    case.status().attested = Some(attested(60));
    case.status().attested.as_mut().unwrap().pending_time = None;
    assert_eq!(
        refused(&decide(&case)),
        None,
        "nothing was announced to compare it with"
    );
}

#[test]
fn half_a_proof_neither_binds_nor_contests() {
    let half = Identity {
        pending: None,
        ..identity()
    };
    for mut case in [Case::new(), Case::bound()] {
        case.asked.sender = PrivateKey::generate().public();
        let step = decide(Some(&case.worker), &case.asked, Some(&half), &case.config, now());
        assert_eq!(refused(&step), Some(Reason::NotProven));
    }
}

#[test]
fn an_announcement_ends_the_wait() {
    let mut case = Case::new();
    case.status().attested = Some(attested(1));
    assert_eq!(case.decide(), Step::Prove);
}

#[test]
fn what_another_account_announced_is_forgotten_and_a_full_proof_suffices_after_a_minute() {
    let mut case = Case::new();
    case.status().announced.as_mut().unwrap().account = "999999999999".to_owned();
    assert_eq!(case.decide_proven(), Step::Record(Change::Disowned(attested(0))));
    let patch = Change::Disowned(attested(0)).patch();
    assert!(patch["announced"].is_null() && patch["disputed"].is_null(), "{patch}");
    (case.status().announced, case.status().attested) = (None, Some(attested(0)));
    assert_eq!(refused(&case.decide()), Some(Reason::NotAnnounced));
    case.status().attested = Some(attested(60));
    assert!(matches!(case.decide_proven(), Step::Record(Change::Bound(..))));
}

#[test_case(State::Stopped; "stopped")]
#[test_case(State::Terminated; "ended")]
fn while_two_accounts_announce_it_the_word_of_none_keeps_it_from_its_proof(state: State) {
    let mut case = Case::new();
    case.status().announced = Some(announced(state));
    assert!(refused(&case.decide()).is_some());
    case.status().disputed = Some(ago(1));
    assert_eq!(case.decide(), Step::Prove);
}

#[test]
fn an_instance_that_another_account_ended_is_told_to_ask_again() {
    let mut case = Case::new();
    case.worker.spec.wished = Wish::Gone;
    assert_eq!(refused(&case.decide()), Some(Reason::Gone));
    case.status().disputed = Some(ago(1));
    assert_eq!(refused(&case.decide()), Some(Reason::NotYet));
    case.worker.spec.forced = true;
    assert_eq!(refused(&case.decide()), Some(Reason::Gone), "an operator said so");
    case.worker.spec.forced = false;
    case.status().attested = Some(attested(60));
    assert_eq!(refused(&case.decide()), Some(Reason::Gone), "its own account said so");
}

/// An account that may publish ends an instance which is not its own, before that has said anything.
#[test_case(State::Terminated, Wish::Gone, &|| Step::Record(Change::Disputed(now())); "ended")]
#[test_case(State::Stopped, Wish::Running, &|| Step::Record(Change::Disowned(attested(0))); "stopped")]
fn the_word_of_an_account_that_the_proof_is_not_of_keeps_nobody_out(
    state: State,
    wished: Wish,
    expected: &dyn Fn() -> Step,
) {
    let mut case = Case::new();
    case.worker.spec.wished = wished;
    case.status().announced = Some(announced(state));
    let own = case.decide_proven();
    assert!(
        matches!(refused(&own), Some(Reason::Gone | Reason::NotYet)),
        "its own account said so: {own:?}"
    );
    assert_eq!(case.decide(), own, "the document says whose it is: nobody is asked");
    case.status().announced.as_mut().unwrap().account = "999999999999".to_owned();
    assert_eq!(case.decide(), Step::Prove, "a document alone proves nothing");
    assert_eq!(case.decide_proven(), expected());
    case.asked.document = None;
    assert_eq!(case.decide(), Step::Prove);
    for known in [known_by_proof, known_by_ec2] {
        let mut case = Case {
            worker: case.worker.clone(),
            ..Case::new()
        };
        known(&mut case);
        assert!(refused(&case.decide()).is_some(), "it is known whose it is");
    }
    case.worker.spec = WorkerSpec {
        wished: Wish::Gone,
        forced: true,
        ..case.worker.spec
    };
    assert_eq!(
        refused(&case.decide_proven()),
        Some(Reason::Gone),
        "an operator said so"
    );
}

fn known_by_proof(case: &mut Case) {
    case.status().attested = Some(attested(60));
}

fn known_by_ec2(case: &mut Case) {
    case.status().described = Some(described());
}

#[test]
fn a_kubelet_that_does_not_fit_is_told_so_once_it_is_proven() {
    let mut case = Case::new();
    case.asked.skew = Some("too new".to_owned());
    assert_eq!(case.decide(), Step::Prove);
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotEligible));
}

/// With a rule that only EC2 can verify, the claim writes down whose the instance is, so that EC2 can be asked, and waits.
#[test]
fn an_instance_that_only_ec2_can_place_waits_until_it_is_described() {
    let mut case = Case::new();
    case.config = toml::from_str(include_str!("../../../../testdata/groups.toml")).unwrap();
    assert_eq!(case.decide(), Step::Prove);
    assert_eq!(case.decide_proven(), Step::Record(Change::Attested(attested(0))));
    case.status().attested = Some(attested(0));
    assert_eq!(refused(&case.decide()), Some(Reason::NotYet), "STS is not asked again");
    case.status().described = Some(described());
    assert_eq!(case.decide(), Step::Prove);
    assert!(matches!(case.decide_proven(), Step::Record(Change::Bound(..))));
}

#[test]
fn an_instance_that_ec2_describes_otherwise_is_not_eligible() {
    let mut case = Case::new();
    case.config = toml::from_str(include_str!("../../../../testdata/groups.toml")).unwrap();
    case.config.node_groups.truncate(2);
    let mut described = described();
    described.auto_scaling_group = Some("others".to_owned());
    case.status().described = Some(described);
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotEligible));
}
