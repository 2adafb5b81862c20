//! List and release.

use dynk8s_api::InstanceId;
use serde_json::{Value, json};
use test_case::test_case;

use super::{NAMESPACE, Scene};
use crate::cli::Format;
use crate::commands::failure::Failure;
use crate::commands::workers::{list, release};

const INSTANCE: &str = "i-0123456789abcdef0";

fn path() -> String {
    format!("/apis/dynk8s.du5t1n.me/v1alpha1/namespaces/{NAMESPACE}/workers/{INSTANCE}")
}

fn worker(status: &Value) -> Value {
    json!({ "apiVersion": "dynk8s.du5t1n.me/v1alpha1", "kind": "Worker",
        "metadata": { "name": INSTANCE, "namespace": NAMESPACE }, "spec": { "instanceId": INSTANCE, "wished": "running" },
        "status": status })
}

fn ready(ready: bool) -> Value {
    json!({ "key": "burst-1", "node": { "name": INSTANCE, "uid": "1", "ready": ready } })
}

async fn release(scene: &Scene, yes: bool, force: bool) -> Result<(), Failure> {
    let names: [InstanceId; 1] = [INSTANCE.parse().unwrap()];
    release::carry_out(&scene.cluster, &names, yes, force, &mut scene.console()).await
}

#[test_case(ready(false), true, false, true; "a dead one is released")]
#[test_case(ready(true), true, false, false; "a Ready one is not")]
#[test_case(ready(true), true, true, true; "a Ready one is by force")]
#[test_case(ready(false), false, false, false; "nobody agreed")]
#[tokio::test]
async fn releases(status: Value, yes: bool, force: bool, gone: bool) {
    let scene = Scene::new();
    scene.api.put(&path(), worker(&status));
    assert_eq!(release(&scene, yes, force).await.is_ok(), gone);
    let wished = scene.api.get(&path()).unwrap()["spec"]["wished"].clone();
    assert_eq!(wished == "gone", gone);
    if gone {
        assert!(scene.noted().contains("the key `burst-1`"), "{}", scene.noted());
    }
}

#[tokio::test]
async fn one_that_changed_meanwhile_is_not_released() {
    let scene = Scene::new();
    scene.api.put(&path(), worker(&ready(false)));
    scene.api.lock().contested.insert(path());
    release(&scene, true, false).await.unwrap_err();
    assert_eq!(scene.api.get(&path()).unwrap()["spec"]["wished"], "running");
}

#[tokio::test]
async fn an_unknown_one_is_an_error() {
    release(&Scene::new(), true, false).await.unwrap_err();
}

#[tokio::test]
async fn the_list_names_what_is_waited_for() {
    let scene = Scene::new();
    let condition = json!({ "type": "KeyAssigned", "status": "False", "reason": "PoolEmpty", "message": "none is free",
        "lastTransitionTime": "2026-12-01T00:00:00Z" });
    scene.api.put(
        &path(),
        worker(&json!({ "phase": "Waiting", "conditions": [condition] })),
    );
    list(&scene.cluster, Format::Table, &mut scene.console()).await.unwrap();
    let printed = scene.printed();
    let row: Vec<&str> = printed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, [INSTANCE, "Waiting", "-", "-", "-", "-", "-", "PoolEmpty", "-"]);
    list(&scene.cluster, Format::Json, &mut scene.console()).await.unwrap();
    assert!(scene.printed().contains("\"message\": \"none is free\""));
}
