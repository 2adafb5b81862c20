//! What proves an instance, and what does not.

use std::time::{Duration, Instant};

use dynk8s_api::problem::Reason;
use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::json;
use test_case::test_case;

use super::aws::ID;
use super::place::{Place, document};

const OTHER: &str = "i-0123456789abcdef1";
const ROLE: &str = "role = { name = \"node\", unique_id = \"AROA0123456789ABCDEF\" }";

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

#[tokio::test]
async fn the_document_of_another_instance_is_refused_before_sts_is_asked() {
    let place = Place::start().await;
    place.announce("running").await;
    let reads = place.cluster.lock().reads;
    let mut agent = place.agent();
    agent.document = Some(document(OTHER, SignedDuration::ZERO));
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotProven);
    agent.document = None;
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotProven);
    let asked = (place.questions_to_sts(), place.cluster.lock().reads - reads);
    assert_eq!(asked, (0, 0), "nor was the API server");
}

#[tokio::test]
async fn the_sts_proof_of_another_instance_is_refused_whatever_the_document_says() {
    let place = Place::start().await;
    place.announce("running").await;
    place
        .aws
        .name("aws:ec2-instance", "123456789012:aws:ec2-instance", OTHER);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::NotProven);
    assert!(place.cluster.status(ID)["claim"].is_null());
}

#[tokio::test]
async fn a_session_that_is_called_like_the_instance_is_not_the_instance() {
    let place = Place::start().await;
    place.announce("running").await;
    place.aws.name("node", "AROA0123456789ABCDEF", ID);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::NotProven);
    assert!(place.cluster.status(ID)["claim"].is_null());
}

#[tokio::test]
async fn a_named_role_proves_an_instance_with_its_document() {
    let place = Place::start_for(ROLE).await;
    place.announce("running").await;
    place.aws.name("node", "AROA0123456789ABCDEF", ID);
    let mut agent = place.agent();
    let document = agent.document.take();
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotProven);
    agent.document = document;
    agent.claim(None).await.unwrap();
    assert_eq!(place.cluster.status(ID)["attested"]["role"], "node");
}

#[test_case("node", "AROAFEDCBA9876543210", ID, Reason::NotProven; "a role that was made again")]
#[test_case("other", "AROA0123456789ABCDEF", ID, Reason::NotProven; "another role")]
#[test_case("node", "AROA0123456789ABCDEF", OTHER, Reason::NotProven; "a session of another name")]
#[test_case("aws:ec2-instance", "123456789012:aws:ec2-instance", ID, Reason::NotEligible; "the instance's own role")]
#[tokio::test]
async fn a_named_role_is_that_very_role(role: &str, unique_id: &str, session: &str, reason: Reason) {
    let place = Place::start_for(ROLE).await;
    place.announce("running").await;
    place.aws.name(role, unique_id, session);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), reason);
}

#[tokio::test]
async fn with_sts_alone_the_document_is_not_looked_at() {
    let place = Place::start_for("proof = \"sts\"").await;
    place.announce("running").await;
    let mut agent = place.agent();
    agent.document = Some("of a signer whom nobody knows".to_owned());
    agent.claim(None).await.unwrap();
    assert!(place.cluster.status(ID)["attested"]["pendingTime"].is_null());
}

#[tokio::test]
async fn with_the_document_alone_sts_is_not_asked() {
    let place = Place::start_for("proof = \"document\"\naccept_unbound_document = true").await;
    place.announce("running").await;
    let mut agent = place.agent();
    agent.document = Some(document(ID, minutes(11)));
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotProven, "it is too old");
    agent.document = Some(document(ID, minutes(9)));
    agent.claim(None).await.unwrap();
    assert_eq!(place.questions_to_sts(), 0);
    let thief = place.agent();
    assert_eq!(thief.claim(None).await.unwrap_err(), Reason::AnotherKey);
    assert!(place.cluster.status(ID)["contested"].is_string());
}

#[test_case(0, Ok(()); "of the announced start")]
#[test_case(40, Err(Reason::NotProven); "of an earlier start")]
#[test_case(-6, Err(Reason::NotAnnounced); "of a later start")]
#[tokio::test]
async fn the_first_claim_is_of_the_start_that_was_announced(ago: i64, expected: Result<(), Reason>) {
    let place = Place::start().await;
    place.announce("running").await;
    let mut agent = place.agent();
    agent.document = Some(document(ID, minutes(ago)));
    assert_eq!(agent.claim(None).await.map(drop), expected);
}

#[tokio::test]
async fn a_document_of_an_earlier_start_is_worth_nothing_any_more() {
    let place = Place::start().await;
    place.announce("running").await;
    let mut agent = place.agent();
    agent.document = Some(document(ID, minutes(5)));
    agent.claim(None).await.unwrap();
    let before = place.cluster.status(ID)["attested"]["pendingTime"].clone();
    agent.document = Some(document(ID, minutes(4)));
    agent.claim(None).await.unwrap();
    assert_ne!(
        place.cluster.status(ID)["attested"]["pendingTime"],
        before,
        "it was started again"
    );
    for mut agent in [agent, place.agent()] {
        agent.document = Some(document(ID, minutes(5)));
        assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotProven);
    }
    assert!(place.cluster.status(ID)["contested"].is_null());
}

#[tokio::test]
async fn after_the_join_a_valid_proof_with_another_key_is_noted_and_changes_nothing() {
    let place = Place::start().await;
    place.announce("running").await;
    place.agent().claim(None).await.unwrap();
    place
        .cluster
        .merge(ID, &json!({ "status": { "joined": "2026-12-01T00:00:00Z" } }));
    let mut before = place.cluster.status(ID);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::AnotherKey);
    let noted = place.cluster.status(ID);
    assert!(noted["rejected"].is_string());
    before["rejected"] = noted["rejected"].clone();
    assert_eq!(noted, before);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::AnotherKey);
    assert_eq!(place.cluster.status(ID), noted, "not at each try");
}

#[tokio::test]
async fn a_request_that_is_replayed_brings_the_replayer_nothing() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    let (request, body) = agent.sealed(None);
    let answer = agent.send(&request, body.clone()).await.unwrap();
    let before = place.cluster.status(ID);
    assert_eq!(
        agent.send(&request, body).await.unwrap(),
        answer,
        "sealed for the claim key again"
    );
    assert_eq!((place.cluster.status(ID), place.questions_to_sts()), (before, 1));
}

#[tokio::test]
async fn ten_thousand_claims_that_do_not_hold_ask_nobody() {
    let place = Place::start().await;
    place.announce("running").await;
    let stranger = include_str!("../../../api/testdata/identity-document.rsa2048");
    let genuine = document(OTHER, SignedDuration::ZERO);
    let altered = genuine.replacen('A', "B", 1);
    let junk = [
        None,
        Some(stranger.to_owned()),
        Some(genuine),
        Some(altered),
        Some("MIAG".to_owned()),
    ];
    let agents: Vec<_> = junk
        .into_iter()
        .map(|document| {
            let mut agent = place.agent();
            agent.document = document;
            agent
        })
        .collect();
    let claims = (0..10_000).map(|it| agents[it % agents.len()].claim_opened(&place, ID));
    let honest = place.agent();
    let (refused, served) = tokio::join!(join_all(claims), honest.claim_opened(&place, ID));
    assert!(
        refused
            .iter()
            .all(|it| matches!(it, Err(Reason::NotProven | Reason::Malformed)))
    );
    assert!(served.is_ok());
    assert_eq!(place.questions_to_sts(), 1, "the honest one's");
    assert!(
        place.cluster.lock().reads < 10,
        "nor was the API server asked about the others"
    );
}

#[tokio::test]
async fn ten_thousand_made_up_signatures_do_not_keep_out_who_was_announced() {
    let place = Place::start_for("proof = \"sts\"").await;
    place.announce("running").await;
    place.aws.hang();
    let mut stranger = place.agent();
    stranger.signature = "b".repeat(64);
    let instances: Vec<_> = (0..10_000).map(|it| format!("i-{it:017x}")).collect();
    let claims = join_all(instances.iter().map(|it| stranger.claim_opened(&place, it)));
    let honest = place.agent();
    let began = Instant::now();
    let honest = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let served = honest.claim_opened(&place, ID).await;
        (served, place.aws.requests().len())
    };
    // STS does not answer the strangers before the honest one is served.
    let (_, (served, _)) = tokio::join!(tokio::time::timeout(Duration::from_secs(4), claims), honest);
    assert!(served.is_ok(), "{served:?} after {:?}", began.elapsed());
    let strangers = place.questions_to_sts() - 1;
    assert!(strangers <= 2, "{strangers} strangers were asked about");
}
