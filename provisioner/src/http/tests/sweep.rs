//! Whoever holds one of our accounts ends nobody in another one, though he knows every instance by its id.

use serde_json::Value;

use super::aws::{event, published, sign};
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

#[tokio::test]
async fn a_sweep_of_another_account_changes_nothing() {
    let mut config: Config = toml::from_str(include_str!("../../../testdata/provisioner.toml")).unwrap();
    config.sns.topics.push(OTHER_TOPIC.to_owned());
    config.node_groups[0].accounts.push(OTHER.to_owned());
    let place = Place::start_with(config).await;
    for number in 0..INSTANCES {
        let message = published(&told(number, "running", "123456789012"));
        place.post("/sns", message.to_string()).await;
    }
    let before = place.cluster.lock().workers.clone();
    assert_eq!(before.len(), INSTANCES as usize);
    for number in 0..INSTANCES {
        for state in STATES {
            for account in [OTHER, "123456789012"] {
                let event = told(number, state, account);
                place.post("/sns", over_the_other_topic(&event)).await;
            }
        }
    }
    assert_eq!(place.cluster.lock().workers, before);
    let swept = INSTANCES as usize * STATES.len();
    assert!(place.counted("not-eligible", swept), "{}", place.metrics.text());
    assert!(place.counted("other-topic", swept), "{}", place.metrics.text());
    // An instance of the other account's own is heard of.
    let own = told(INSTANCES, "running", OTHER);
    place.post("/sns", over_the_other_topic(&own)).await;
    assert_eq!(place.cluster.lock().workers.len(), before.len() + 1);
}
