//! What an operator sees of it all: `/metrics` and the log.

use std::collections::BTreeSet;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderName, Request, StatusCode};
use dynk8s_api::problem::Reason;
use tower::ServiceExt as _;

use super::aws::ID;
use super::cluster::WIREGUARD;
use super::place::Place;
use crate::config::Config;
use crate::telemetry::tests::listen;

/// An instance that joins, and what gets in its way.
async fn live(place: &Place) {
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::NotAnnounced);
    assert_eq!(place.announce("running").await, StatusCode::OK);
    let agent = place.agent();
    agent.claim(None).await.unwrap();
    agent.claim(None).await.unwrap();
    assert_eq!(agent.report("running").await, StatusCode::NO_CONTENT);
    let mut junk = place.agent();
    junk.signature = "b".repeat(64);
    assert_eq!(junk.claim(None).await.unwrap_err(), Reason::NotProven);
    assert_eq!(junk.report("failed").await, StatusCode::FORBIDDEN);
    place.cluster.lock().down = true;
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::Unavailable);
    assert_eq!(place.announce("stopping").await, StatusCode::SERVICE_UNAVAILABLE);
    place.cluster.lock().down = false;
    assert_eq!(place.agent().claim(None).await.unwrap_err(), Reason::AnotherKey);
    assert_eq!(place.announce("terminated").await, StatusCode::OK);
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::Gone);
    let path = format!("/v1/workers/{ID}/claim");
    assert_eq!(place.post(&path, "{}".to_owned()).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(place.post("/sns", "{}".to_owned()).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_life_is_counted() {
    let place = Place::start().await;
    live(&place).await;
    let text = place.metrics.text();
    let lines: BTreeSet<&str> = text.lines().collect();
    for line in [
        "dynk8s_claims_total{outcome=\"served\"} 2",
        "dynk8s_claims_total{outcome=\"not-announced\"} 1",
        "dynk8s_claims_total{outcome=\"not-proven\"} 1",
        "dynk8s_claims_total{outcome=\"another-key\"} 1",
        "dynk8s_claims_total{outcome=\"unavailable\"} 1",
        "dynk8s_claims_total{outcome=\"gone\"} 1",
        "dynk8s_claims_total{outcome=\"malformed\"} 1",
        "dynk8s_sns_messages_total{outcome=\"recorded\"} 2",
        "dynk8s_sns_messages_total{outcome=\"malformed\"} 1",
        "dynk8s_sns_messages_total{outcome=\"unavailable\"} 1",
        "dynk8s_sts_request_seconds_count{outcome=\"answered\"} 3",
        "dynk8s_sts_request_seconds_count{outcome=\"refused\"} 1",
        "dynk8s_api_requests_total{verb=\"create\",resource=\"workers\",outcome=\"ok\"} 1",
        "dynk8s_api_requests_total{verb=\"get\",resource=\"workers\",outcome=\"failed\"} 2",
        "dynk8s_api_requests_total{verb=\"list\",resource=\"workers\",outcome=\"ok\"} 1",
    ] {
        assert!(lines.contains(line), "{line} is not in:\n{text}");
    }
}

#[tokio::test]
async fn every_line_that_names_an_instance_has_it_in_its_own_field() {
    let (written, _guard) = listen();
    live(&Place::start().await).await;
    let lines = written.lines();
    assert!(lines.len() > 10, "{lines:?}");
    for line in lines {
        let names = line.to_string().contains(ID);
        assert!(!names || line["instance"] == ID, "{line}");
    }
}

#[tokio::test]
async fn no_line_tells_a_secret() {
    let (written, _guard) = listen();
    let place = Place::start().await;
    live(&place).await;
    let private_key = WIREGUARD.split_once("PrivateKey = ").unwrap().1.lines().next().unwrap();
    let text = written.text();
    let secrets = [
        private_key,
        "0123456789abcdef\"",
        "\"token\"",
        &"a".repeat(64),
        &"b".repeat(64),
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "`{secret}` is in:\n{text}");
    }
    assert!(!text.contains("abcdef.0123456789abcdef"), "{text}");
}

#[tokio::test]
async fn lines_tell_the_caller_whom_the_ingress_names() {
    let (written, _guard) = listen();
    let mut config: Config = toml::from_str(include_str!("../../../testdata/provisioner.toml")).unwrap();
    config.caller_header = Some(HeaderName::from_static("x-forwarded-for"));
    let place = Place::start_with(config).await;
    let request = Request::post(format!("/v1/workers/{ID}/claim")).header("x-forwarded-for", "spoofed, 192.0.2.1");
    let request = request.body(Body::from("{}")).unwrap();
    let answer = place.router.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let lines = written.lines();
    let line = lines.iter().find(|it| it["message"] == "claim").unwrap();
    assert_eq!(line["caller"], "192.0.2.1");
    assert_eq!(line["instance"], ID);
}

/// The number of series.
fn series(place: &Place) -> usize {
    place.metrics.text().lines().filter(|it| !it.starts_with('#')).count()
}

#[tokio::test]
async fn strangers_cannot_add_a_series() {
    let place = Place::start().await;
    live(&place).await;
    let ask = async |number: usize| {
        let (path, method) = match number % 6 {
            0 => (format!("/v1/workers/i-{number:017x}/claim"), "POST"),
            1 => (format!("/v1/workers/{number}/claim"), "POST"),
            2 => (format!("/v1/workers/i-{number:08x}/progress"), "POST"),
            3 => ("/sns".to_owned(), "POST"),
            4 => (format!("/{number}"), "PUT"),
            _ => (format!("/sns?{number}"), "GET"),
        };
        let body = format!("{{\"Type\":\"{number}\",\"TopicArn\":\"{number}\",\"v\":{number}}}");
        let request = Request::builder().method(method).uri(path).header("x-number", number);
        let request = request.body(Body::from(body)).unwrap();
        let answer = place.router.clone().oneshot(request).await.unwrap();
        assert!(answer.status().is_client_error(), "{}", answer.status());
        to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    };
    for number in 0..12 {
        ask(number).await;
    }
    let before = series(&place);
    for number in 12..10_000 {
        ask(number).await;
    }
    assert_eq!(series(&place), before);
}
