//! SNS and EventBridge, from the side of a subscriber.

use axum::http::StatusCode;
use dynk8s_lab::aws::eventbridge::InstanceState;
use serde_json::Value;
use test_case::test_case;
use url::Url;

use crate::PATIENCE;
use crate::subscriber::Subscriber;

#[tokio::test]
async fn a_subscription_counts_once_it_is_confirmed() {
    let subscriber = Subscriber::serve().await;
    subscriber.sns.subscribe(&subscriber.endpoint).await.unwrap();
    let confirmation = subscriber.last();
    assert_eq!(confirmation["Type"], "SubscriptionConfirmation");
    assert!(subscriber.verifies(&confirmation).await);
    let (headers, _) = subscriber.received.entries().remove(0);
    assert_eq!(headers["x-amz-sns-message-type"], "SubscriptionConfirmation");
    assert_eq!(headers["content-type"], "text/plain; charset=UTF-8");

    subscriber.sns.publish("too early").await.unwrap();
    assert_eq!(
        subscriber.received.entries().len(),
        1,
        "an unconfirmed endpoint was sent a message"
    );

    // By POST, with a call of the subscriber's own making.
    let call = [
        ("Action", "ConfirmSubscription"),
        ("TopicArn", subscriber.sns.topic()),
        ("Token", confirmation["Token"].as_str()),
    ];
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(call)
        .finish();
    let request = subscriber.client.post(format!("https://{}/", subscriber.sns.host()));
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(
        answer
            .text()
            .await
            .unwrap()
            .contains("<SubscriptionArn>arn:aws:sns:eu-central-1:123456789012:instances:")
    );
    let wanted = subscriber.endpoint.to_string();
    subscriber
        .sns
        .confirmations()
        .wait_for(PATIENCE, |it| *it == wanted)
        .await
        .unwrap();

    subscriber.sns.publish("now").await.unwrap();
    assert_eq!(subscriber.last()["Message"], "now");
}

#[test_case("ConfirmSubscription", "instances", "wrong", "InvalidParameter"; "token")]
#[test_case("ConfirmSubscription", "others", "wrong", "NotFound"; "topic")]
#[test_case("DeleteTopic", "instances", "wrong", "InvalidAction"; "action")]
#[tokio::test]
async fn a_wrong_confirmation_is_refused(action: &str, topic: &str, token: &str, code: &str) {
    let subscriber = Subscriber::serve().await;
    subscriber.sns.subscribe(&subscriber.endpoint).await.unwrap();
    let url = format!(
        "https://{}/?Action={action}&TopicArn=arn:aws:sns:eu-central-1:123456789012:{topic}&Token={token}",
        subscriber.sns.host()
    );
    let answer = subscriber.client.get(url).send().await.unwrap();
    assert!(answer.status().is_client_error());
    assert!(answer.text().await.unwrap().contains(&format!("<Code>{code}</Code>")));
    assert!(subscriber.sns.confirmations().entries().is_empty());
}

#[test_case("1"; "with SHA-1")]
#[test_case("2"; "with SHA-256")]
#[tokio::test]
async fn notifications_are_signed(version: &str) {
    let subscriber = Subscriber::confirmed().await;
    version.clone_into(&mut subscriber.sns.policy().signature_version);
    let mut message = subscriber.sns.notification("a \"text\"\nof two lines, ü");
    message.subject = Some("a subject".to_owned());
    subscriber.sns.sign(&mut message);
    subscriber.sns.deliver(&message).await.unwrap();
    let mut fields = subscriber.last();
    assert_eq!(fields["SignatureVersion"], version);
    assert!(subscriber.verifies(&fields).await);
    let path = Url::parse(&fields["SigningCertURL"]).unwrap();
    assert_eq!(path.host_str(), Some("sns.eu-central-1.amazonaws.com"));
    assert!(path.path().starts_with("/SimpleNotificationService-"));

    fields.insert("Message".to_owned(), "another text".to_owned());
    assert!(!subscriber.verifies(&fields).await);
}

#[tokio::test]
async fn forgeries_are_delivered_as_they_are() {
    let subscriber = Subscriber::confirmed().await;
    let mut message = subscriber.sns.notification("right");
    "wrong".clone_into(&mut message.message);
    subscriber.sns.deliver(&message).await.unwrap();
    assert!(!subscriber.verifies(&subscriber.last()).await);

    message.topic.push_str("-of-another");
    subscriber.sns.sign(&mut message);
    subscriber.sns.deliver(&message).await.unwrap();
    assert!(subscriber.verifies(&subscriber.last()).await);
    assert_ne!(subscriber.last()["TopicArn"], subscriber.sns.topic());

    let status = subscriber.sns.deliver_raw(&subscriber.endpoint, "bare").await.unwrap();
    assert_eq!(status, StatusCode::OK);
    let (headers, body) = subscriber.received.entries().pop().unwrap();
    assert_eq!(
        (headers["x-amz-sns-rawdelivery"].as_bytes(), &body[..]),
        (&b"true"[..], &b"bare"[..])
    );
}

#[tokio::test]
async fn a_redelivery_is_the_same_message() {
    let subscriber = Subscriber::confirmed().await;
    let message = subscriber.sns.publish("twice").await.unwrap();
    let first = subscriber.last();
    subscriber.sns.deliver(&message).await.unwrap();
    assert_eq!(subscriber.last(), first);
    assert_eq!(subscriber.received.entries().len(), 3);
}

#[test_case(&[StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE, StatusCode::BAD_GATEWAY], 3, true; "until it is taken")]
#[test_case(&[StatusCode::INTERNAL_SERVER_ERROR; 9], 4, false; "but not for ever")]
#[test_case(&[StatusCode::FORBIDDEN], 1, false; "not after a refusal")]
#[test_case(&[StatusCode::TOO_MANY_REQUESTS], 1, false; "nor after 429")]
#[tokio::test]
async fn deliveries_are_tried_again(answers: &[StatusCode], attempts: usize, taken: bool) {
    let subscriber = Subscriber::confirmed().await;
    // Taken from the end.
    subscriber.answers.lock().unwrap().extend_from_slice(answers);
    assert_eq!(subscriber.sns.publish("a text").await.is_ok(), taken);
    let deliveries = subscriber.sns.deliveries().entries();
    // The first of all was the confirmation.
    assert_eq!(deliveries.len(), 1 + attempts, "{deliveries:?}");
    assert_eq!(
        deliveries
            .last()
            .unwrap()
            .outcome
            .clone()
            .is_ok_and(|it| it.is_success()),
        taken
    );
}

#[tokio::test]
async fn the_signers_certificate_can_be_missing() {
    let subscriber = Subscriber::confirmed().await;
    subscriber.sns.publish("a text").await.unwrap();
    let url = subscriber.last()["SigningCertURL"].clone();
    subscriber.sns.policy().certificate_answer = Some((StatusCode::SERVICE_UNAVAILABLE, String::new()));
    assert_eq!(
        subscriber.client.get(&url).send().await.unwrap().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    subscriber.sns.policy().certificate_answer = None;
    assert_eq!(
        subscriber.client.get(&url).send().await.unwrap().status(),
        StatusCode::OK
    );
    let other = url.replace("Service-", "Service-0");
    assert_eq!(
        subscriber.client.get(&other).send().await.unwrap().status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn state_changes_are_announced_as_documented() {
    let subscriber = Subscriber::confirmed().await;
    let id = "i-0123456789abcdef0";
    subscriber
        .bridge
        .announce(id, InstanceState::ShuttingDown)
        .await
        .unwrap();
    let event: Value = serde_json::from_str(&subscriber.last()["Message"]).unwrap();
    assert_eq!(event["source"], "aws.ec2");
    assert_eq!(event["detail-type"], "EC2 Instance State-change Notification");
    assert_eq!(
        (&event["account"], &event["region"]),
        (&"123456789012".into(), &"eu-central-1".into())
    );
    assert_eq!(
        event["resources"][0],
        format!("arn:aws:ec2:eu-central-1:123456789012:instance/{id}")
    );
    assert_eq!(
        event["detail"],
        serde_json::json!({"instance-id": id, "state": "shutting-down"})
    );
}
