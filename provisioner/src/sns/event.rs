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

/// What every event has; other fields are of no interest.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Event {
    source: String,
    detail_type: String,
    account: String,
    region: String,
    time: Timestamp,
    detail: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Detail {
    instance_id: InstanceId,
    state: State,
}

/// Reads an event that came over `topic`; `None` if it tells of something else than a state change.
pub fn read(text: &str, topic: &Topic) -> Result<Option<StateChange>, Refusal> {
    let event: Event = serde_json::from_str(text).map_err(|error| {
        Refusal::Malformed(format!(
            "it is no event as EventBridge writes it ({}); remove any input transformer of the rule",
            quote(&error)
        ))
    })?;
    if event.source != "aws.ec2" || event.detail_type != "EC2 Instance State-change Notification" {
        return Ok(None);
    }
    if event.region != topic.region {
        return Err(Refusal::NotForUs(
            "the event is of another region than its topic".to_owned(),
        ));
    }
    if !aws::is_account(&event.account) {
        return Err(Refusal::Malformed("the event's account is none".to_owned()));
    }
    let detail: Detail = serde_json::from_value(event.detail)
        .map_err(|error| Refusal::Malformed(format!("the event's detail is not as documented ({})", quote(&error))))?;
    Ok(Some(StateChange {
        instance: detail.instance_id,
        announced: Announced {
            state: detail.state,
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

    #[test_case("source", "aws.autoscaling"; "another source")]
    #[test_case("detail-type", "EC2 Spot Instance Interruption Warning"; "another event")]
    fn leaves_alone(field: &str, value: &str) {
        let mut event = event();
        event[field] = value.into();
        assert_eq!(read(&event.to_string(), &topic()).unwrap(), None);
    }

    #[test]
    fn refuses_another_region_than_the_topics() {
        let mut event = event();
        event["region"] = "eu-west-1".into();
        assert!(matches!(read(&event.to_string(), &topic()), Err(Refusal::NotForUs(_))));
    }

    #[test_case("/account", json!("1234"); "a short account")]
    #[test_case("/time", json!("noon"); "no time")]
    #[test_case("/time", json!(null); "time is null")]
    #[test_case("/detail", json!({}); "no detail")]
    #[test_case("/detail/instance-id", json!("i-../../x"); "a path for an instance")]
    #[test_case("/detail/state", json!("rebooting"); "an unknown state")]
    #[test_case("/source", json!(["aws.ec2"]); "a list for a text")]
    fn refuses(pointer: &str, value: Value) {
        let mut event = event();
        *event.pointer_mut(pointer).unwrap() = value;
        assert!(matches!(read(&event.to_string(), &topic()), Err(Refusal::Malformed(_))));
    }

    #[test]
    fn refuses_what_is_no_event() {
        assert!(matches!(read("hello", &topic()), Err(Refusal::Malformed(_))));
    }
}
