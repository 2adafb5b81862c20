//! What EventBridge publishes: "EC2 Instance State-change Notification"
//! ([event](https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html)).

use dynk8s_api::InstanceId;
use jiff::Timestamp;
use serde::Deserialize;

use super::topic::Topic;
use super::{Refusal, quote};
use crate::aws;
use crate::worker::{Announced, State};

/// A state change of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    pub instance: InstanceId,
    pub announced: Announced,
}

/// What every event tells itself by.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Head {
    source: String,
    detail_type: String,
}

/// What a state change has; other fields are of no interest.
#[derive(Deserialize)]
struct Event {
    account: String,
    region: String,
    time: Timestamp,
    detail: Detail,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Detail {
    instance_id: InstanceId,
    state: Known,
}

/// What EC2 calls a state, of which it may know more one day.
#[derive(Deserialize)]
#[serde(untagged)]
enum Known {
    State(State),
    Other(#[expect(dead_code, reason = "only that it is a text matters")] String),
}

/// Reads an event that came over `topic`; `None` if it tells of something else than a change to a state that we know.
pub fn read(text: &str, topic: &Topic) -> Result<Option<StateChange>, Refusal> {
    let head: Head = serde_json::from_str(text).map_err(|error| {
        Refusal::Malformed(format!(
            "it is no event as EventBridge writes it ({}); remove any input transformer of the rule",
            quote(&error)
        ))
    })?;
    if head.source != "aws.ec2" || head.detail_type != "EC2 Instance State-change Notification" {
        return Ok(None);
    }
    let event: Event = serde_json::from_str(text)
        .map_err(|error| Refusal::Malformed(format!("the event is not as documented ({})", quote(&error))))?;
    if !aws::is_account(&event.account) {
        return Err(Refusal::Malformed("the event's account is none".to_owned()));
    }
    // Each account and region has a topic of its own, so that whoever publishes to one speaks for no other.
    if (&event.account, &event.region) != (&topic.account, &topic.region) {
        let text = "the event is of another account or region than its topic";
        return Err(Refusal::NotForUs(text.to_owned()));
    }
    let Known::State(state) = event.detail.state else {
        return Ok(None);
    };
    Ok(Some(StateChange {
        instance: event.detail.instance_id,
        announced: Announced {
            state,
            account: event.account,
            region: event.region,
            time: event.time,
        },
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::read;
    use crate::sns::Refusal;
    use crate::sns::topic::Topic;
    use crate::worker::State;

    fn topic() -> Topic {
        "arn:aws:sns:eu-central-1:123456789012:dynk8s".parse().unwrap()
    }

    fn event() -> Value {
        json!({
            "version": "0", "id": "7bf73129-1428-4cd3-a780-95db273d1602",
            "detail-type": "EC2 Instance State-change Notification", "source": "aws.ec2", "account": "123456789012",
            "time": "2026-12-01T10:00:00Z", "region": "eu-central-1",
            "resources": ["arn:aws:ec2:eu-central-1:123456789012:instance/i-0123456789abcdef0"],
            "detail": { "instance-id": "i-0123456789abcdef0", "state": "shutting-down" },
        })
    }

    #[test]
    fn reads_a_state_change() {
        let change = read(&event().to_string(), &topic()).unwrap().unwrap();
        assert_eq!(change.instance.as_str(), "i-0123456789abcdef0");
        assert_eq!(change.announced.state, State::ShuttingDown);
        assert_eq!(change.announced.time.to_string(), "2026-12-01T10:00:00Z");
    }

    #[test_case("aws.ec2", "EC2 Spot Instance Interruption Warning",
        json!({"instance-id": "i-0123456789abcdef0", "instance-action": "terminate"}))]
    #[test_case("aws.ec2", "EC2 Instance Rebalance Recommendation", json!({"instance-id": "i-0123456789abcdef0"}))]
    #[test_case("aws.ec2", "EC2 Interruptible Capacity Reservation Instance Interruption Warning", json!({}))]
    #[test_case("aws.autoscaling", "EC2 Instance-launch Lifecycle Action", json!({"EC2InstanceId": "i-0123456789abcdef0",
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"}))]
    #[test_case("aws.autoscaling", "EC2 Instance-terminate Lifecycle Action", json!({"EC2InstanceId": "i-0123456789abcdef0"}))]
    #[test_case("example.app", "EC2 Instance State-change Notification", json!({"instance-id": "i-0123456789abcdef0",
        "state": "terminated"}); "somebody who is not EC2")]
    #[test_case("aws.ec2", "", json!(null); "a kind without a name")]
    fn leaves_other_events_alone(source: &str, detail_type: &str, detail: Value) {
        let mut event = event();
        (event["source"], event["detail-type"], event["detail"]) = (source.into(), detail_type.into(), detail);
        assert_eq!(read(&event.to_string(), &topic()).unwrap(), None);
    }

    #[test]
    fn leaves_a_state_alone_that_it_does_not_know() {
        let mut event = event();
        event["detail"]["state"] = "rebooting".into();
        assert_eq!(read(&event.to_string(), &topic()).unwrap(), None);
    }

    #[test_case("region", "eu-west-1")]
    #[test_case("account", "999999999999")]
    fn refuses_what_its_topic_does_not_speak_for(field: &str, value: &str) {
        let mut event = event();
        event[field] = value.into();
        assert!(matches!(read(&event.to_string(), &topic()), Err(Refusal::NotForUs(_))));
    }

    #[test_case("/account", json!("1234"); "a short account")]
    #[test_case("/time", json!("noon"); "no time")]
    #[test_case("/time", json!(null); "time is null")]
    #[test_case("/detail", json!({}); "no detail")]
    #[test_case("/detail/instance-id", json!("i-../../x"); "a path for an instance")]
    #[test_case("/detail/state", json!(16); "a number for a state")]
    #[test_case("/source", json!(["aws.ec2"]); "a list for a text")]
    fn refuses(pointer: &str, value: Value) {
        let mut event = event();
        *event.pointer_mut(pointer).unwrap() = value;
        assert!(matches!(read(&event.to_string(), &topic()), Err(Refusal::Malformed(_))));
    }

    #[test_case("hello"; "a word")]
    #[test_case(""; "nothing")]
    #[test_case("\"{}\""; "what a string template of an input transformer makes")]
    #[test_case("{\"source\": \"aws.ec2\", \"source\": \"aws.ec2\", \"detail-type\": \"x\"}"; "a field that stands twice")]
    fn refuses_what_is_no_event(text: &str) {
        assert!(matches!(read(text, &topic()), Err(Refusal::Malformed(_))));
    }
}
