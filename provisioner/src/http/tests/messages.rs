//! What SNS may say.

use axum::http::StatusCode;
use test_case::test_case;

use super::aws::{ID, confirmation, notification, sign};
use super::place::Place;

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
async fn raw_delivery_is_refused() {
    let place = Place::start().await;
    let request = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(place.url("/sns"));
    let answer = request
        .header("x-amz-sns-rawdelivery", "true")
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(answer.text().await.unwrap().contains("RawMessageDelivery"));
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
