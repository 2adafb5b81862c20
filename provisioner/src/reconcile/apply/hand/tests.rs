//! What becomes of a key that is freed.

use serde_json::{Value, json};
use test_case::test_case;

use super::Hand;
use crate::commands::tests::{ApiServer, NAMESPACE};
use crate::reconcile::decide::Action;
use crate::worker::{Wish, Worker, WorkerSpec};

const INSTANCE: &str = "i-0123456789abcdef0";

#[test_case(json!({}), Some(""); "one of the pool is free again")]
#[test_case(json!({ "dynk8s.du5t1n.me/retired": "true" }), None; "a retired one is gone")]
#[tokio::test]
async fn a_key_is_freed(mut labels: Value, expected: Option<&str>) {
    let server = ApiServer::default();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/burst-1");
    labels["dynk8s.du5t1n.me/ec2-instance-id"] = INSTANCE.into();
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "burst-1", "labels": labels } });
    server.put(&path, secret);
    let seen = server.get(&path).unwrap()["metadata"]["resourceVersion"].clone();
    let worker = Worker::new(
        INSTANCE,
        WorkerSpec {
            instance_id: INSTANCE.to_owned(),
            wished: Wish::Gone,
            forced: false,
        },
    );
    let mut hand = Hand::new(&server.client(), NAMESPACE, &worker, INSTANCE.parse().unwrap());
    let action = Action::FreeKey {
        name: "burst-1".to_owned(),
        resource_version: seen.as_str().unwrap().to_owned(),
    };
    assert!(hand.carry_out(action).await.is_ok());
    let left = server.get(&path);
    let holder = left
        .as_ref()
        .map(|it| &it["metadata"]["labels"]["dynk8s.du5t1n.me/ec2-instance-id"]);
    assert_eq!(holder.map(|it| it.as_str().unwrap()), expected);
}
