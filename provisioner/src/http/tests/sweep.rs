//! Whoever holds one of our accounts ends nobody in another one, though he knows every instance by its id.

use std::collections::BTreeMap;

use dynk8s_api::problem::Reason;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::aws::{ID, event, published, sign};
use super::place::Place;
use crate::config::Config;

const OTHER: &str = "999999999999";
const OTHER_TOPIC: &str = "arn:aws:sns:eu-central-1:999999999999:dynk8s";
const INSTANCES: u32 = 20;
const STATES: [&str; 6] = [
    "pending",
    "running",
    "stopping",
    "stopped",
    "shutting-down",
    "terminated",
];

/// An event of this account about the instance of this number.
fn told(number: u32, state: &str, account: &str) -> Value {
    let mut event = event(state);
    event["account"] = account.into();
    event["detail"]["instance-id"] = format!("i-{number:017x}").into();
    event
}

/// The event over the topic of the other account, which is as genuine as ours.
fn over_the_other_topic(event: &Value) -> String {
    let mut message = published(event);
    message["TopicArn"] = OTHER_TOPIC.into();
    sign(&mut message);
    message.to_string()
}

/// Both accounts are listed, and each has a topic.
fn both() -> Config {
    let mut config: Config = toml::from_str(include_str!("../../../testdata/provisioner.toml")).unwrap();
    config.sns.topics.push(OTHER_TOPIC.to_owned());
    config.node_groups[0].accounts.push(OTHER.to_owned());
    config
}

/// What is wished of each instance, and what was announced; that somebody else announces it too is noted beside it.
fn known(place: &Place) -> BTreeMap<String, (Value, Value)> {
    let workers = place.cluster.lock().workers.clone();
    let known = |it: Value| (it["spec"].clone(), it["status"]["announced"].clone());
    workers.into_iter().map(|(name, it)| (name, known(it))).collect()
}

/// What the other account says of an instance of ours.
fn lie(state: &str) -> String {
    let mut event = event(state);
    event["account"] = OTHER.into();
    over_the_other_topic(&event)
}

#[tokio::test]
async fn a_sweep_of_another_account_changes_nothing() {
    let place = Place::start_with(both()).await;
    for number in 0..INSTANCES {
        let message = published(&told(number, "running", "123456789012"));
        place.post("/sns", message.to_string()).await;
    }
    let before = known(&place);
    assert_eq!(before.len(), INSTANCES as usize);
    for number in 0..INSTANCES {
        for state in STATES {
            for account in [OTHER, "123456789012"] {
                let event = told(number, state, account);
                place.post("/sns", over_the_other_topic(&event)).await;
            }
        }
    }
    assert_eq!(known(&place), before);
    let swept = INSTANCES as usize * STATES.len();
    assert!(place.counted("not-eligible", swept), "{}", place.metrics.text());
    assert!(place.counted("other-topic", swept), "{}", place.metrics.text());
    // An instance of the other account's own is heard of.
    let own = told(INSTANCES, "running", OTHER);
    place.post("/sns", over_the_other_topic(&own)).await;
    assert_eq!(place.cluster.lock().workers.len(), before.len() + 1);
}

#[tokio::test]
async fn an_instance_that_another_account_announced_first_joins_by_its_proof() {
    let place = Place::start_with(both()).await;
    for state in ["running", "stopped"] {
        place.post("/sns", lie(state)).await;
    }
    place.announce("running").await;
    assert_eq!(place.cluster.status(ID)["announced"]["account"], OTHER);
    let agent = place.agent();
    assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotAnnounced);
    let status = place.cluster.status(ID);
    assert_eq!(status["attested"]["account"], "123456789012");
    assert!(status["announced"].is_null(), "{status}");
    place.post("/sns", lie("terminated")).await;
    assert_eq!(place.cluster.lock().workers[ID]["spec"]["wished"], "running");
    let a_minute_ago = Timestamp::now() - SignedDuration::from_secs(61);
    let attested = json!({ "status": { "attested": { "time": a_minute_ago } } });
    place.cluster.merge(ID, &attested);
    agent.claim(None).await.unwrap();
}

/// As often as he likes: before the instance has proven itself, and again once its tombstone was removed.
#[tokio::test]
async fn an_instance_that_another_account_ends_first_joins_by_its_proof() {
    let place = Place::start_with(both()).await;
    let agent = place.agent();
    for _ in 0..2 {
        place.post("/sns", lie("terminated")).await;
        assert_eq!(place.cluster.lock().workers[ID]["spec"]["wished"], "gone");
        assert_eq!(agent.claim(None).await.unwrap_err(), Reason::NotYet);
        let status = place.cluster.status(ID);
        assert!(
            status["disputed"].is_string() && status["attested"].is_null(),
            "{status}"
        );
        // As `reconcile` does.
        place.cluster.lock().workers.remove(ID);
    }
    place.announce("running").await;
    agent.claim(None).await.unwrap();
}
