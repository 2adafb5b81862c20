use dynk8s_api::claim::{ClaimRequest, StsProof};
use dynk8s_api::problem::Reason;
use dynk8s_api::{PrivateKey, PublicKey, Secret};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use test_case::test_case;

use super::{Change, Material, Step, decide, material, why_not};
use crate::config::Config;
use crate::proof::document::Documented;
use crate::proof::{Asked, Identity};
use crate::worker::tests::described;
use crate::worker::{Announced, Attested, Claim, State, Token, Wish, Worker, WorkerSpec, WorkerStatus};

const ID: &str = "i-0123456789abcdef0";
const SAMPLE: &str = include_str!("../../../testdata/provisioner.toml");
const ROLE: &str = "role = { name = \"node\", unique_id = \"AROA0123456789ABCDEF\" }\n[node_group.labels]";

/// A claim and what is known of its instance; each test changes what it is about.
struct Case {
    key: PublicKey,
    asked: Asked,
    worker: Worker,
    config: Config,
}

impl Case {
    /// Announced as running, not claimed yet.
    fn new() -> Self {
        let key = PrivateKey::generate().public();
        let spec = WorkerSpec {
            instance_id: ID.to_owned(),
            wished: Wish::Running,
            forced: false,
        };
        let mut worker = Worker::new(ID, spec);
        worker.status = Some(WorkerStatus {
            announced: Some(announced(State::Running)),
            ..WorkerStatus::default()
        });
        Self {
            asked: asked(key),
            key,
            worker,
            config: toml::from_str(SAMPLE).unwrap(),
        }
    }

    /// The same, claimed a minute ago and given everything.
    fn bound() -> Self {
        let mut case = Self::new();
        let claim = Claim {
            key: case.key.to_string(),
            kubelet_key: case.asked.kubelet_key(),
            kubelet_version: "v1.37.2".to_owned(),
            reset: None,
            time: ago(60),
        };
        let status = case.status();
        status.attested = Some(attested(60));
        status.claim = Some(claim);
        status.generation = Some(2);
        status.key = Some("wireguard-2".to_owned());
        status.token = Some(Token {
            id: "abcdef".to_owned(),
            generation: 2,
            expires: ago(-60),
        });
        case
    }

    fn status(&mut self) -> &mut WorkerStatus {
        self.worker.status.as_mut().unwrap()
    }

    fn decide(&self) -> Step {
        decide(Some(&self.worker), &self.asked, None, &self.config, now())
    }

    fn decide_proven(&self) -> Step {
        decide(Some(&self.worker), &self.asked, Some(&identity()), &self.config, now())
    }

    fn material(&self, generation: u32) -> Option<Material> {
        material(Some(&self.worker), &self.asked, generation, now())
    }
}

fn now() -> Timestamp {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn announced(state: State) -> Announced {
    Announced {
        state,
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        time: ago(60),
    }
}

fn attested(seconds: i64) -> Attested {
    Attested {
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        role: None,
        pending_time: Some(ago(90)),
        time: ago(seconds),
    }
}

fn identity() -> Identity {
    Identity {
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        role: None,
        by_sts: true,
        pending: Some(ago(90)),
    }
}

fn asked(key: PublicKey) -> Asked {
    let sts = StsProof {
        region: "eu-central-1".to_owned(),
        date: String::new(),
        access_key_id: String::new(),
        signature: Secret::new(String::new()),
        session_token: Secret::new(String::new()),
    };
    let request = ClaimRequest {
        nonce: [0; 32],
        sts,
        document: None,
        kubelet_key: [1; 32],
        kubelet_version: "v1.37.2".to_owned(),
        reset: None,
    };
    Asked {
        sender: key,
        request,
        document: Some(Documented {
            account: "123456789012".to_owned(),
            pending: ago(90),
        }),
        skew: None,
    }
}

fn refused(step: &Step) -> Option<Reason> {
    match step {
        Step::Refuse(reason, _) => Some(*reason),
        _ => None,
    }
}

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

#[test]
fn a_later_start_of_the_same_claim_is_written_down() {
    let mut case = Case::bound();
    case.asked.document.as_mut().unwrap().pending = ago(10);
    assert_eq!(case.decide(), Step::Record(Change::Restarted(ago(10))));
    case.status().joined = Some(ago(20));
    assert_eq!(refused(&case.decide()), Some(Reason::AlreadyJoined));
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
fn an_announcement_of_another_account_is_not_believed() {
    let mut case = Case::new();
    case.status().announced.as_mut().unwrap().account = "999999999999".to_owned();
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotEligible));
}

#[test]
fn a_kubelet_that_does_not_fit_is_told_so_once_it_is_proven() {
    let mut case = Case::new();
    case.asked.skew = Some("too new".to_owned());
    assert_eq!(case.decide(), Step::Prove);
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotEligible));
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

#[test]
fn a_contested_claim_serves_nobody() {
    let mut case = Case::bound();
    case.status().contested = Some(ago(10));
    assert_eq!(refused(&case.decide()), Some(Reason::AnotherKey));
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AnotherKey, _))
    ));
}

#[test]
fn after_the_join_the_secrets_stay_where_they_are() {
    let mut case = Case::bound();
    case.status().joined = Some(ago(10));
    assert_eq!(refused(&case.decide()), Some(Reason::AlreadyJoined));
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AlreadyJoined, _))
    ));
}

#[test]
fn material_is_there_with_key_and_token_of_the_generation() {
    let there = Material::There {
        key: "wireguard-2".to_owned(),
        token: "abcdef".to_owned(),
    };
    assert_eq!(Case::bound().material(2), Some(there));
    assert_eq!(Case::bound().material(3), None, "the token of the generation before");
    let mut case = Case::bound();
    case.status().key = None;
    assert_eq!(case.material(2), None);
    let mut case = Case::bound();
    case.status().token.as_mut().unwrap().expires = now();
    assert_eq!(case.material(2), None, "the token has expired");
    let mut case = Case::bound();
    case.asked.sender = PrivateKey::generate().public();
    assert!(matches!(
        case.material(2),
        Some(Material::Refused(Reason::AnotherKey, _))
    ));
    let mut case = Case::bound();
    case.worker.spec.wished = Wish::Gone;
    assert!(matches!(case.material(2), Some(Material::Refused(Reason::Gone, _))));
}

#[test_case("False", "PoolEmpty", Reason::PoolEmpty; "no key is free")]
#[test_case("True", "Assigned", Reason::NotYet; "the token is still to come")]
fn what_is_missing_is_said(status: &str, reason: &str, expected: Reason) {
    let mut case = Case::bound();
    case.status().conditions = vec![Condition {
        type_: "KeyAssigned".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: "none of 2 keys is free".to_owned(),
        last_transition_time: Time(now()),
        observed_generation: None,
    }];
    assert_eq!(why_not(Some(&case.worker)).0, expected);
    assert_eq!(why_not(None).0, Reason::NotYet);
}

/// With a rule that only EC2 can verify, the claim writes down whose the instance is, so that EC2 can be asked, and waits.
#[test]
fn an_instance_that_only_ec2_can_place_waits_until_it_is_described() {
    let mut case = Case::new();
    case.config = toml::from_str(include_str!("../../../testdata/groups.toml")).unwrap();
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
    case.config = toml::from_str(include_str!("../../../testdata/groups.toml")).unwrap();
    case.config.node_groups.truncate(2);
    let mut described = described();
    described.auto_scaling_group = Some("others".to_owned());
    case.status().described = Some(described);
    assert_eq!(refused(&case.decide_proven()), Some(Reason::NotEligible));
}
