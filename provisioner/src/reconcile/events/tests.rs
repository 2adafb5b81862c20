//! What reaches the API server, which here remembers all Events and may be away.

use std::sync::{Arc, Mutex};

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::*;
use crate::worker::{Wish, WorkerSpec};

/// Method, path and body of each request.
type Seen = Arc<Mutex<Vec<(String, String, Value)>>>;

fn api_server(status: StatusCode) -> (Client, Seen) {
    let seen = Seen::default();
    let requests = Arc::clone(&seen);
    let answer = move |request: Request| async move {
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let body = to_bytes(request.into_body(), 1 << 20).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        requests.lock().unwrap().push((method, path, body.clone()));
        (status, Json(body)).into_response() as Response
    };
    (Client::new(Router::new().fallback(answer), "default"), seen)
}

fn worker() -> Worker {
    let spec = WorkerSpec {
        instance_id: "i-0123abcd".to_owned(),
        wished: Wish::Running,
        forced: false,
    };
    let mut worker = Worker::new("i-0123abcd", spec);
    worker.metadata.namespace = Some("dynk8s-system".to_owned());
    worker.metadata.uid = Some("uid of the Worker".to_owned());
    worker
}

fn turn(weight: Weight, message: &str) -> Turn {
    Turn {
        kind: "KeyAssigned".to_owned(),
        reason: "PoolEmpty".to_owned(),
        message: message.to_owned(),
        weight,
    }
}

async fn told(status: StatusCode, node: Option<&Node>, turns: &[Turn]) -> Vec<(String, String, Value)> {
    let (client, seen) = api_server(status);
    let (events, work) = Events::new(client);
    events.tell(&worker(), node, turns);
    drop(events);
    work.await;
    std::mem::take(&mut *seen.lock().unwrap())
}

#[tokio::test]
async fn a_turn_is_told_on_the_worker_and_on_its_node() {
    let node = Node {
        name: "i-0123abcd".to_owned(),
        uid: "uid of the Node".to_owned(),
        ready: true,
        instance_type: None,
        zone: None,
    };
    let seen = told(
        StatusCode::CREATED,
        Some(&node),
        &[turn(Weight::Warning, "none is free")],
    )
    .await;
    let paths: Vec<_> = seen
        .iter()
        .map(|(method, path, _)| (method.as_str(), path.as_str()))
        .collect();
    let base = "/apis/events.k8s.io/v1/namespaces";
    let expected = [format!("{base}/dynk8s-system/events"), format!("{base}/default/events")];
    assert_eq!(paths, [("POST", expected[0].as_str()), ("POST", expected[1].as_str())]);
    let regarding = json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker", "name": "i-0123abcd",
        "namespace": "dynk8s-system", "uid": "uid of the Worker" });
    assert_eq!(seen[0].2["regarding"], regarding);
    let regarding = json!({ "apiVersion": "v1", "kind": "Node", "name": "i-0123abcd", "uid": "uid of the Node" });
    assert_eq!(seen[1].2["regarding"], regarding);
    let event = &seen[0].2;
    assert_eq!(
        [&event["type"], &event["reason"], &event["action"], &event["note"]],
        ["Warning", "PoolEmpty", "KeyAssigned", "none is free"]
    );
}

#[tokio::test]
async fn good_news_is_named_by_its_condition() {
    let seen = told(StatusCode::CREATED, None, &[turn(Weight::Normal, "")]).await;
    assert_eq!(
        [&seen[0].2["type"], &seen[0].2["reason"], &seen[0].2["action"]],
        ["Normal", "KeyAssigned", "PoolEmpty"]
    );
}

#[tokio::test]
async fn what_is_repeated_becomes_a_series() {
    let turn = turn(Weight::Warning, "none is free");
    let seen = told(StatusCode::OK, None, &[turn.clone(), turn.clone(), turn]).await;
    let methods: Vec<_> = seen.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(methods, ["POST", "PATCH", "PATCH"]);
    assert_eq!(seen[2].2["series"]["count"], 3);
}

#[tokio::test]
async fn nothing_is_told_of_what_has_not_happened() {
    assert_eq!(told(StatusCode::OK, None, &[turn(Weight::Quiet, "")]).await, []);
}

#[tokio::test]
async fn a_note_is_cut_to_what_the_api_server_takes() {
    let seen = told(StatusCode::OK, None, &[turn(Weight::Normal, &"é".repeat(1000))]).await;
    assert_eq!(seen[0].2["note"], "é".repeat(512));
}

#[tokio::test]
async fn an_api_server_that_refuses_is_no_obstacle() {
    let turns = [turn(Weight::Normal, "one"), turn(Weight::Warning, "two")];
    assert_eq!(told(StatusCode::FORBIDDEN, None, &turns).await.len(), 2);
}

#[tokio::test]
async fn nobody_waits_for_a_queue_that_is_full() {
    let (client, seen) = api_server(StatusCode::OK);
    let (events, work) = Events::new(client);
    for _ in 0..LONGEST_QUEUE + 10 {
        events.tell(&worker(), None, &[turn(Weight::Normal, "")]);
    }
    drop(events);
    work.await;
    assert_eq!(seen.lock().unwrap().len(), LONGEST_QUEUE);
}
