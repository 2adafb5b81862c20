//! What SNS may say.

use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use test_case::test_case;

use super::aws::{ID, TOPIC, confirmation, event, notification, published, sign};
use super::place::Place;
use crate::config::Config;
use crate::sns::Refusal;
use crate::sns::message::Message;

/// A place whose topic still signs with SHA-1.
async fn place_of_an_old_topic() -> Place {
    let mut config: Config = toml::from_str(include_str!("../../../testdata/provisioner.toml")).unwrap();
    config.sns.signature_version_1 = vec![TOPIC.to_owned()];
    Place::start_with(config).await
}

fn signed_with(version: &str) -> serde_json::Value {
    let mut message = notification("running");
    message["SignatureVersion"] = version.into();
    sign(&mut message);
    message
}

#[tokio::test]
async fn a_repeated_message_changes_nothing() {
    let place = Place::start().await;
    let message = notification("running").to_string();
    for _ in 0..2 {
        assert_eq!(place.post("/sns", message.clone()).await.0, StatusCode::OK);
    }
    assert_eq!(place.aws.requests().len(), 1, "the certificate is fetched once");
    place.announce("terminated").await;
    assert_eq!(place.post("/sns", message).await.0, StatusCode::OK);
    assert_eq!(place.cluster.lock().workers[ID]["spec"]["wished"], "gone");
}

#[test_case("Message", "{}"; "message")]
#[test_case("MessageId", "7506a1e4"; "id")]
#[test_case("Subject", "x"; "a subject that was not there")]
#[test_case("Type", "UnsubscribeConfirmation"; "kind")]
#[test_case("TopicArn", "arn:aws:sns:eu-central-1:999999999999:dynk8s"; "topic")]
#[test_case("Timestamp", "2026-01-01T00:00:00.000Z"; "time")]
#[test_case("SignatureVersion", "1"; "version")]
#[test_case("Signature", "AAAA"; "signature")]
#[test_case("SigningCertURL", "https://evil.example/SimpleNotificationService-0123abcd.pem"; "certificate")]
#[tokio::test]
async fn an_altered_message_is_refused(field: &str, value: &str) {
    let place = Place::start().await;
    let mut message = notification("running");
    message["Token"] = "t".into();
    message["SubscribeURL"] = "u".into();
    message[field] = value.into();
    assert_eq!(place.post("/sns", message.to_string()).await.0, StatusCode::FORBIDDEN);
    assert!(place.cluster.lock().workers.is_empty());
}

#[test_case("Timestamp", "2026-01-01T00:00:00.000Z"; "an old one")]
#[test_case("Timestamp", "2100-01-01T00:00:00.000Z"; "one from the future")]
#[test_case("TopicArn", "arn:aws:sns:eu-central-1:999999999999:dynk8s"; "one of a stranger's topic")]
#[test_case("SignatureVersion", "1"; "one with the old signature")]
#[test_case("SigningCertURL", "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123abcd.pem"; "one of another region")]
#[tokio::test]
async fn a_message_that_is_signed_may_still_not_be_for_us(field: &str, value: &str) {
    let place = Place::start().await;
    let mut message = notification("running");
    message[field] = value.into();
    sign(&mut message);
    assert_eq!(place.post("/sns", message.to_string()).await.0, StatusCode::FORBIDDEN);
    assert_eq!(place.aws.requests(), Vec::<String>::new(), "nothing was asked of AWS");
}

#[tokio::test]
async fn raw_delivery_is_refused_with_the_way_out() {
    let place = Place::start().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for header in ["x-amz-sns-rawdelivery", "x-other"] {
        let request = client.post(place.url("/sns")).header(header, "true");
        let answer = request.body(event("running").to_string()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
        assert!(answer.text().await.unwrap().contains("RawMessageDelivery"));
    }
    assert!(place.counted("raw", 2));
}

/// Headers are not signed.
#[tokio::test]
async fn a_header_alone_makes_no_raw_delivery() {
    let place = Place::start().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(place.url("/sns")).header("x-amz-sns-rawdelivery", "true");
    let answer = request.body(notification("running").to_string()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(place.counted("recorded", 1));
}

#[tokio::test]
async fn a_state_that_nobody_knows_is_heard_and_counted() {
    let place = Place::start().await;
    assert_eq!(place.announce("hibernated").await, StatusCode::OK);
    assert!(place.counted("other-event", 1));
    assert_eq!(place.cluster.status(ID), serde_json::Value::Null);
}

#[tokio::test]
async fn a_subscription_is_confirmed_at_sns_itself() {
    let place = Place::start().await;
    assert_eq!(place.post("/sns", confirmation().to_string()).await.0, StatusCode::OK);
    let confirmed = "GET sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn%3Aaws%3Asns%3A\
                     eu-central-1%3A123456789012%3Adynk8s&Token=t%26k&Version=2010-03-31";
    assert_eq!(place.aws.requests().last().map(String::as_str), Some(confirmed));
}

#[tokio::test]
async fn an_end_of_the_subscription_is_heard_and_not_obeyed() {
    let place = Place::start().await;
    let mut message = confirmation();
    message["Type"] = "UnsubscribeConfirmation".into();
    sign(&mut message);
    assert_eq!(place.post("/sns", message.to_string()).await.0, StatusCode::OK);
    assert_eq!(place.aws.requests().len(), 1, "only the certificate was fetched");
}

#[tokio::test]
async fn sns_is_asked_to_repeat_what_may_still_be_told() {
    let place = Place::start().await;
    place.cluster.lock().down = true;
    assert_eq!(place.announce("running").await, StatusCode::SERVICE_UNAVAILABLE);
    place.cluster.lock().down = false;
    assert_eq!(place.announce("running").await, StatusCode::OK);

    let place = Place::start().await;
    place.aws.fail_with(StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(place.announce("running").await, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn version_1_is_believed_of_listed_topics_only() {
    for version in ["1", "2"] {
        let place = place_of_an_old_topic().await;
        let (status, _) = place.post("/sns", signed_with(version).to_string()).await;
        assert_eq!(status, StatusCode::OK, "version {version}");
        assert!(place.cluster.lock().workers.contains_key(ID));
    }
    let place = Place::start().await;
    let (status, text) = place.post("/sns", signed_with("1").to_string()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(text.contains("set-topic-attributes") && text.contains(TOPIC), "{text}");
}

#[test_case("1", "2"; "an old one as a new one")]
#[test_case("2", "1"; "a new one as an old one")]
#[test_case("2", "3"; "a version that does not exist")]
#[tokio::test]
async fn a_signature_fits_one_version_only(signed: &str, said: &str) {
    let place = place_of_an_old_topic().await;
    let mut message = signed_with(signed);
    message["SignatureVersion"] = said.into();
    assert_eq!(place.post("/sns", message.to_string()).await.0, StatusCode::FORBIDDEN);
    assert!(place.cluster.lock().workers.is_empty());
}

#[tokio::test]
async fn made_up_certificates_cost_few_requests() {
    let place = Place::start().await;
    let topics = place.shared.claims.config.get().sns.listed();
    let mut message = notification("running");
    let start = Timestamp::now();
    // Sixty at once and one more a second.
    for (seconds, asked) in [(0, 60), (1, 61), (2, 62)] {
        for number in 0..200 {
            let file = format!("SimpleNotificationService-{seconds}{}.pem", number % 100);
            message["SigningCertURL"] = format!("https://sns.eu-central-1.amazonaws.com/{file}").into();
            let message = Message::parse(message.to_string().as_bytes()).unwrap();
            let now = start + SignedDuration::from_secs(seconds);
            let refused = place.shared.sns.verify(&topics, &message, now).await;
            assert!(matches!(refused, Err(Refusal::Unavailable(_))));
        }
        assert_eq!(place.aws.requests().len(), asked);
    }
}

#[tokio::test]
async fn a_known_certificate_is_believed_in_a_flood_of_made_up_ones() {
    let place = Place::start().await;
    assert_eq!(place.announce("pending").await, StatusCode::OK);
    let mut message = notification("running");
    for number in 0..100 {
        message["SigningCertURL"] =
            format!("https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-{number}.pem").into();
        place.post("/sns", message.to_string()).await;
    }
    assert_eq!(place.announce("running").await, StatusCode::OK);
}

#[test_case("aws.ec2", "EC2 Spot Instance Interruption Warning")]
#[test_case("aws.ec2", "EC2 Instance Rebalance Recommendation")]
#[test_case("aws.autoscaling", "EC2 Instance-terminate Lifecycle Action")]
#[test_case("example.app", "anything")]
#[tokio::test]
async fn other_events_are_heard_and_counted(source: &str, detail_type: &str) {
    let place = Place::start().await;
    let mut event = event("terminated");
    (event["source"], event["detail-type"]) = (source.into(), detail_type.into());
    let (status, _) = place.post("/sns", published(&event).to_string()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(place.cluster.lock().workers.is_empty());
    assert!(place.counted("other-event", 1));
}

#[tokio::test]
async fn each_end_of_a_message_is_counted() {
    let place = Place::start().await;
    let altered = |field: &str, value: &str| {
        let mut message = notification("running");
        message[field] = value.into();
        message.to_string()
    };
    let mut ended = confirmation();
    ended["Type"] = "UnsubscribeConfirmation".into();
    sign(&mut ended);
    let mut elsewhere = event("terminated");
    elsewhere["account"] = "999999999999".into();
    let messages = [
        ("recorded", notification("running").to_string()),
        ("repeated", notification("pending").to_string()),
        ("other-topic", published(&elsewhere).to_string()),
        ("confirmed", confirmation().to_string()),
        ("unsubscribed", ended.to_string()),
        ("cut-off", "x".repeat(256 * 1024 + 1)),
        ("malformed", "{}".to_owned()),
        (
            "other-topic",
            altered("TopicArn", "arn:aws:sns:eu-central-1:999999999999:dynk8s"),
        ),
        ("stale", altered("Timestamp", "2026-01-01T00:00:00.000Z")),
        ("not-authentic", altered("Signature", "AAAA")),
    ];
    for (at, (outcome, message)) in messages.iter().enumerate() {
        place.post("/sns", message.clone()).await;
        let times = messages[..=at].iter().filter(|it| it.0 == *outcome).count();
        assert!(place.counted(outcome, times), "{outcome}: {}", place.metrics.text());
    }
    place.cluster.lock().down = true;
    place.announce("terminated").await;
    assert!(place.counted("unavailable", 1));
}

#[tokio::test]
async fn an_instance_that_no_group_wants_is_heard_and_counted() {
    let mut config: Config = toml::from_str(include_str!("../../../testdata/provisioner.toml")).unwrap();
    config.node_groups[0].accounts = vec!["999999999999".to_owned()];
    let place = Place::start_with(config).await;
    assert_eq!(place.announce("running").await, StatusCode::OK);
    assert_eq!(place.announce("terminated").await, StatusCode::OK);
    assert!(place.counted("not-eligible", 2));
    assert!(place.cluster.lock().workers.is_empty());
}
