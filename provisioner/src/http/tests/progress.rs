//! Reports: from whom they are taken, and what they cost.

use axum::http::StatusCode;
use serde_json::json;

use super::aws::ID;
use super::place::Place;
use crate::telemetry::tests::listen;

#[tokio::test]
async fn they_are_taken_from_the_bound_key_only_and_strangers_learn_nothing() {
    let place = Place::start().await;
    let agent = place.agent();
    let unknown = agent.report_error("running", None).await;
    place.announce("running").await;
    let unclaimed = agent.report_error("running", None).await;
    agent.claim(None).await.unwrap();
    assert_eq!(agent.report("running").await, StatusCode::NO_CONTENT);
    let claimed = place.agent().report_error("failed", None).await;
    assert_eq!(claimed.0, StatusCode::FORBIDDEN);
    assert_eq!([&unknown, &unclaimed], [&claimed, &claimed]);
    assert_eq!(place.cluster.status(ID)["journey"]["outcome"], "running");
}

#[tokio::test]
async fn those_of_strangers_cost_the_api_server_nothing() {
    let place = Place::start().await;
    place.announce("running").await;
    place.agent().claim(None).await.unwrap();
    let (requests, stranger) = (place.requests_to_the_api_server(), place.agent());
    for _ in 0..20 {
        assert_eq!(stranger.report("failed").await, StatusCode::FORBIDDEN);
    }
    assert_eq!(place.requests_to_the_api_server(), requests);
}

#[tokio::test]
async fn whatever_an_agent_sends_its_last_word_is_written_and_little_else() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    let requests = place.requests_to_the_api_server();
    assert_eq!(agent.report("running").await, StatusCode::NO_CONTENT);
    assert_eq!(agent.report("running").await, StatusCode::NO_CONTENT);
    assert_eq!(place.requests_to_the_api_server(), requests + 1);
    let answer = agent.report_error("failed", Some("join: no route")).await;
    assert_eq!(answer.0, StatusCode::NO_CONTENT);
    assert_eq!(place.requests_to_the_api_server(), requests + 2);
    let journey = &place.cluster.status(ID)["journey"];
    assert_eq!(
        [&journey["outcome"], &journey["error"]],
        [&json!("failed"), &json!("join: no route")]
    );
}

#[tokio::test]
async fn a_secret_in_them_is_hidden_before_it_is_written_or_logged() {
    let (written, _guard) = listen();
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    let error = "kubeadm: token abcdef.0123456789abcdef is invalid";
    agent.report_error("failed", Some(error)).await;
    let told = "kubeadm: token abcdef.[secret] is invalid";
    assert_eq!(place.cluster.status(ID)["journey"]["error"], told);
    let log = written.text();
    assert!(log.contains(told) && !log.contains(error), "{log}");
}

#[tokio::test]
async fn what_is_found_around_a_node_is_refused_beyond_its_bounds() {
    let place = Place::start().await;
    place.announce("running").await;
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    let found = |length: usize| json!({"outcome": "ready", "steps": [], "impaired": ["x".repeat(length)]});
    assert_eq!(agent.report_json(&found(501)).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(agent.report_json(&found(500)).await.0, StatusCode::NO_CONTENT);
    let kept = place.cluster.status(ID)["journey"]["impaired"].clone();
    assert_eq!(kept, json!(["x".repeat(500)]));
    // An agent that has begun anew has not looked yet.
    assert_eq!(agent.report("ready").await, StatusCode::NO_CONTENT);
    assert!(place.cluster.status(ID)["journey"]["impaired"].is_null());
}
