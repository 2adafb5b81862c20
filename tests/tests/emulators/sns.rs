//! SNS and EventBridge, from the side of a subscriber.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::eventbridge::{EventBridge, InstanceState};
use dynk8s_lab::aws::journal::Journal;
use dynk8s_lab::aws::server::Server;
use dynk8s_lab::aws::sns::Sns;
use rsa::PublicKey;
use rsa::pkcs1v15::{Signature, VerifyingKey};
use rsa::pkcs8::DecodePublicKey;
use rsa::sha2::Sha256;
use rsa::signature::Verifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::ParsedCertificate;
use serde_json::Value;
use sha1::Sha1;
use test_case::test_case;
use url::Url;

use crate::{ANYWHERE, PATIENCE, cloud};

const ENDPOINT: &str = "dynk8s.onprem.example";

type Fields = BTreeMap<String, String>;

struct Subscriber {
    sns: Sns,
    bridge: EventBridge,
    endpoint: Url,
    received: Journal<(HeaderMap, Bytes)>,
    /// The statuses of the next answers; 200 when there are none.
    answers: Arc<Mutex<Vec<StatusCode>>>,
    client: reqwest::Client,
    _servers: [Server; 2],
}

impl Subscriber {
    async fn serve() -> Self {
        let (cloud, _) = cloud();
        let authority = Authority::new("AWS").unwrap();
        let (received, answers) = (Journal::default(), Arc::new(Mutex::new(Vec::new())));
        let identity = authority.identity(&[ENDPOINT]).unwrap();
        let own = Server::tls(ANYWHERE, inbox(received.clone(), answers.clone()), identity)
            .await
            .unwrap();
        let client = authority
            .client()
            .unwrap()
            .resolve(ENDPOINT, own.address())
            .build()
            .unwrap();
        let sns = Sns::new(cloud.clone(), "instances", &authority, client).unwrap();
        let identity = authority.identity(&[&sns.host()]).unwrap();
        let api = Server::tls(ANYWHERE, sns.routes(), identity).await.unwrap();
        let client = authority
            .client()
            .unwrap()
            .resolve(&sns.host(), api.address())
            .build()
            .unwrap();
        sns.policy().pause = Duration::from_millis(20);
        Self {
            bridge: EventBridge::new(cloud, sns.clone()),
            sns,
            endpoint: format!("https://{ENDPOINT}/sns").parse().unwrap(),
            received,
            answers,
            client,
            _servers: [own, api],
        }
    }

    async fn confirmed() -> Self {
        let subscriber = Self::serve().await;
        subscriber.sns.subscribe(&subscriber.endpoint).await.unwrap();
        let url = subscriber.last()["SubscribeURL"].clone();
        assert_eq!(
            subscriber.client.get(url).send().await.unwrap().status(),
            StatusCode::OK
        );
        subscriber
    }

    fn last(&self) -> Fields {
        serde_json::from_slice(&self.received.entries().last().unwrap().1).unwrap()
    }

    /// Whether the signature is that of the certificate which the message names.
    async fn verifies(&self, fields: &Fields) -> bool {
        let pem = self.client.get(&fields["SigningCertURL"]).send().await.unwrap();
        let certificate = CertificateDer::from_pem_slice(&pem.bytes().await.unwrap()).unwrap();
        let certificate = ParsedCertificate::try_from(&certificate).unwrap();
        let key = PublicKey::from_public_key_der(&certificate.subject_public_key_info()).unwrap();
        let signature = BASE64_STANDARD.decode(&fields["Signature"]).unwrap();
        let signature = Signature::try_from(signature.as_slice()).unwrap();
        let text = string_to_sign(fields);
        match fields["SignatureVersion"].as_str() {
            "1" => VerifyingKey::<Sha1>::new(key)
                .verify(text.as_bytes(), &signature)
                .is_ok(),
            "2" => VerifyingKey::<Sha256>::new(key)
                .verify(text.as_bytes(), &signature)
                .is_ok(),
            other => panic!("signature version {other}"),
        }
    }
}

fn inbox(received: Journal<(HeaderMap, Bytes)>, answers: Arc<Mutex<Vec<StatusCode>>>) -> Router {
    Router::new().fallback(async move |headers: HeaderMap, body: Bytes| {
        received.push((headers, body));
        answers.lock().unwrap().pop().unwrap_or(StatusCode::OK)
    })
}

/// As AWS documents it, written down once more.
fn string_to_sign(fields: &Fields) -> String {
    let names: &[&str] = match fields["Type"].as_str() {
        "Notification" => &["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
        _ => &[
            "Message",
            "MessageId",
            "SubscribeURL",
            "Timestamp",
            "Token",
            "TopicArn",
            "Type",
        ],
    };
    let present = names
        .iter()
        .filter_map(|name| Some((*name, fields.get(*name)?.as_str())));
    present.flat_map(|(name, value)| [name, "\n", value, "\n"]).collect()
}

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
