//! A subscriber of the topic, which checks signatures with nothing of the emulator's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::eventbridge::EventBridge;
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
use sha1::Sha1;
use url::Url;

use crate::{ANYWHERE, cloud};

const ENDPOINT: &str = "dynk8s.onprem.example";

pub(crate) type Fields = BTreeMap<String, String>;

pub(crate) struct Subscriber {
    pub(crate) sns: Sns,
    pub(crate) bridge: EventBridge,
    pub(crate) endpoint: Url,
    pub(crate) received: Journal<(HeaderMap, Bytes)>,
    /// The statuses of the next answers; 200 when there are none.
    pub(crate) answers: Arc<Mutex<Vec<StatusCode>>>,
    pub(crate) client: reqwest::Client,
    _servers: [Server; 2],
}

impl Subscriber {
    pub(crate) async fn serve() -> Self {
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

    pub(crate) async fn confirmed() -> Self {
        let subscriber = Self::serve().await;
        subscriber.sns.subscribe(&subscriber.endpoint).await.unwrap();
        let url = subscriber.last()["SubscribeURL"].clone();
        assert_eq!(
            subscriber.client.get(url).send().await.unwrap().status(),
            StatusCode::OK
        );
        subscriber
    }

    pub(crate) fn last(&self) -> Fields {
        serde_json::from_slice(&self.received.entries().last().unwrap().1).unwrap()
    }

    /// Whether the signature is that of the certificate which the message names.
    pub(crate) async fn verifies(&self, fields: &Fields) -> bool {
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
