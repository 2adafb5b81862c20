//! The handlers over HTTP, against an API server in memory and an AWS behind real TLS.

mod aws;
mod cluster;
mod cut_off;
mod hostile;
mod memory;
mod messages;
mod place;
mod progress;
mod proofs;
mod sweep;
mod watching;

use axum::http::StatusCode;
use dynk8s_api::problem::Reason;
use serde_json::json;
use test_case::test_case;

use self::aws::ID;
use self::cluster::WIREGUARD;
use self::place::Place;

#[tokio::test]
async fn an_announced_instance_is_served_what_it_needs_to_join() {
    let place = Place::start().await;
    assert_eq!(place.announce("running").await, StatusCode::OK);
    let agent = place.agent();
    let answer = agent.claim(None).await.unwrap();
    assert_eq!(
        (answer.generation, answer.token.expose()),
        (1, "abcdef.0123456789abcdef")
    );
    assert_eq!(answer.wireguard.expose(), WIREGUARD);
    assert_eq!(answer.cluster.server, "https://api.onprem.example:6443");
    assert_eq!(
        (answer.cluster.ca.as_str(), answer.cluster.version.as_str()),
        ("PEM", "v1.37.2")
    );
    assert_eq!(answer.node.taints.len(), 2);
    assert_eq!(
        place.aws.bindings(),
        [agent.binding()],
        "STS was asked about this claim and no other"
    );
}

#[tokio::test]
async fn the_same_claim_is_served_again_without_asking_sts_again() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    let first = agent.claim(None).await.unwrap();
    assert_eq!(agent.claim(None).await.unwrap(), first);
    assert_eq!(place.questions_to_sts(), 1);
}

#[tokio::test]
async fn a_reset_gets_the_next_generation_however_often_it_asks() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    for _ in 0..2 {
        assert_eq!(agent.claim(Some(1)).await.unwrap().generation, 2);
    }
    assert_eq!(agent.claim(None).await.unwrap().generation, 2);
    assert_eq!(agent.claim(Some(3)).await.unwrap_err(), Reason::Malformed);
}

#[tokio::test]
async fn a_second_key_is_refused_and_fails_the_worker() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::AnotherKey);
    assert!(place.cluster.status(ID)["contested"].is_string());
    assert_eq!(
        agent.claim(None).await.unwrap_err(),
        Reason::AnotherKey,
        "nobody can tell which is the thief"
    );
}

#[tokio::test]
async fn a_second_key_without_a_proof_changes_nothing() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    let mut thief = place.agent();
    thief.signature = "b".repeat(64);
    assert_eq!(thief.claim(None).await.unwrap_err(), Reason::NotProven);
    assert!(agent.claim(None).await.is_ok());
}

#[tokio::test]
async fn of_two_claims_at_once_one_is_bound_and_the_other_contests_it() {
    let place = Place::start().await;
    place.announce("running").await;
    let (one, two) = (place.agent(), place.agent());
    let (first, second) = tokio::join!(one.claim(None), two.claim(None));
    let refused = [first.err(), second.err()].into_iter().flatten().collect::<Vec<_>>();
    assert!(
        !refused.is_empty() && refused.iter().all(|it| *it == Reason::AnotherKey),
        "{refused:?}"
    );
    assert!(place.cluster.status(ID)["contested"].is_string());
}

#[tokio::test]
async fn a_claim_survives_that_others_write_at_the_same_time() {
    let place = Place::start().await;
    place.announce("running").await;
    place.cluster.lock().conflicts = 5;
    assert!(place.agent().claim(None).await.is_ok());
    assert_eq!(place.questions_to_sts(), 1, "the proof holds for the whole claim");
}

#[tokio::test]
async fn an_empty_pool_is_the_operators() {
    let place = Place::start().await;
    place.announce("running").await;
    place.cluster.lock().has_keys = false;
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::PoolEmpty);
}

#[tokio::test]
async fn a_broken_wireguard_document_is_never_handed_out() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    place
        .cluster
        .lock()
        .put_key(ID, &WIREGUARD.replace("[Peer]", "PostUp = id\n[Peer]"));
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::Unavailable);
    place.cluster.lock().put_key("i-0123456789abcdef1", WIREGUARD);
    assert_eq!(
        agent.claim(None).await.unwrap_err(),
        Reason::NotYet,
        "it is another instance's"
    );
}

#[test_case("terminated", Reason::Gone)]
#[test_case("stopping", Reason::NotYet)]
#[tokio::test]
async fn nothing_is_handed_out_to_what_does_not_run(state: &str, reason: Reason) {
    let place = Place::start().await;
    place.announce("pending").await;
    // Within a second the later state of the life holds.
    place.announce(state).await;
    assert_eq!(place.agent().claim(None).await.unwrap_err(), reason);
    assert_eq!(place.questions_to_sts(), 0);
}

#[tokio::test]
async fn an_instance_that_nobody_announced_waits() {
    let place = Place::start().await;
    let agent = place.agent();
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotAnnounced);
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotAnnounced);
    assert_eq!(place.questions_to_sts(), 1);
    let long_ago = json!({ "status": { "attested": { "time": "2026-01-01T00:00:00Z" } } });
    place.cluster.merge(ID, &long_ago);
    assert!(agent.claim(None).await.is_ok());
}

#[tokio::test]
async fn secrets_are_handed_out_only_until_the_node_is_ready() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    place
        .cluster
        .merge(ID, &json!({ "status": { "joined": "2026-12-01T00:00:00Z" } }));
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::AlreadyJoined);
}

#[tokio::test]
async fn an_envelope_for_another_instance_is_refused() {
    let place = Place::start().await;
    let path = "/v1/workers/i-0123456789abcdef1/claim";
    let (status, body) = place.post(path, place.agent().sealed(None).1).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(body.contains("urn:dynk8s:give-up:not-proven"), "{body}");
}

#[test_case("/v1/workers/i-0123456789abcdef0/claim", "{}", StatusCode::BAD_REQUEST; "no envelope")]
#[test_case("/v1/workers/i-0123456789abcdef0/claim", "\u{0}", StatusCode::BAD_REQUEST; "garbage")]
#[test_case("/v1/workers/x/claim", "{}", StatusCode::BAD_REQUEST; "no instance")]
#[test_case("/v1/workers/i-0123456789abcdef0/other", "{}", StatusCode::NOT_FOUND; "no such call")]
#[test_case("/", "", StatusCode::NOT_FOUND; "nothing there")]
#[test_case("/sns", "{}", StatusCode::BAD_REQUEST; "no message")]
#[tokio::test]
async fn junk_is_refused(path: &str, body: &str, expected: StatusCode) {
    let place = Place::start().await;
    let (status, _) = place.post(path, body.to_owned()).await;
    assert_eq!(status, expected);
}

#[test_case("/v1/workers/i-0123456789abcdef0/claim", 64 * 1024)]
#[test_case("/v1/workers/i-0123456789abcdef0/progress", 64 * 1024)]
#[test_case("/sns", 256 * 1024)]
#[tokio::test]
async fn too_long_a_body_is_refused(path: &str, limit: usize) {
    let place = Place::start().await;
    let (status, _) = place.post(path, "x".repeat(limit + 1)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let (status, _) = place.post(path, "x".repeat(limit)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_sts_does_not_say_is_not_held_against_the_instance() {
    let place = Place::start().await;
    place.announce("running").await;
    place.aws.fail_with(StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::Unavailable);
}

#[test_case("text/xml;charset=UTF-8", true; "as STS says it")]
#[test_case("application/json", false; "in another format")]
#[test_case("text/html", false; "a page of somebody else")]
#[tokio::test]
async fn what_sts_says_is_xml_or_nothing(media_type: &'static str, accepted: bool) {
    let place = Place::start().await;
    place.announce("running").await;
    place.aws.answer_as(media_type);
    let refused = place.agent().claim(None).await.err();
    assert_eq!(refused, (!accepted).then_some(Reason::Unavailable));
}

#[test_case("/wireguard/config/i-0123456789abcdef0")]
#[test_case("/kubeadm/kubeconfig/i-0123456789abcdef0")]
#[test_case("/wireguard/config/i-0123456789abcdef0/"; "a slash after the wireguard configuration")]
#[test_case("/kubeadm/kubeconfig/i-0123456789abcdef0/"; "a slash after the kubeconfig")]
#[test_case("/wireguard/config/no-instance"; "no instance")]
#[tokio::test]
async fn the_predecessors_interface_is_gone_and_says_where_to_read(path: &str) {
    let place = Place::start().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(place.url(path)).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::GONE);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let head = client.head(place.url(path)).send().await.unwrap();
    assert_eq!((head.status(), head.headers()), (StatusCode::GONE, answer.headers()));
    let text = answer.text().await.unwrap();
    assert!(text.contains("README") && text.contains("docs/protocol.md"), "{text}");
    assert_eq!(place.post(path, String::new()).await.0, StatusCode::METHOD_NOT_ALLOWED);
}
