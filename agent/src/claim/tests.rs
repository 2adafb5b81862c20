//! The client against a provisioner with real envelopes, and one that misbehaves.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use dynk8s_api::claim::{ClaimAnswer, ClaimRequest, StsProof};
use dynk8s_api::envelope::{Call, Place, Sealed};
use dynk8s_api::problem::{self, Problem, Reason};
use dynk8s_api::{InstanceId, MAX_BODY, PrivateKey};
use test_case::test_case;
use tokio::net::TcpListener;

use super::client::{Error, Provisioner};
use super::decide;
use crate::retry::Next;

const ANSWER: &str = include_str!("../../../provisioner/api/testdata/claim-answer-0.1.json");

/// How the other side answers.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Honest,
    Refuse(Reason),
    RefuseLater(Reason, u64),
    RefuseUnknown(&'static str),
    Status(u16),
    StatusLater(u16, u64),
    /// Sealed by somebody else, who ends TLS in the provisioner's place.
    Impostor,
    /// Sealed by the right key for another request.
    Swapped,
    Garbage,
    Oversized,
    /// Sealed by the right key, with content that no agent understands.
    Nonsense,
}

struct Other {
    key: PrivateKey,
    impostor: PrivateKey,
    manner: Manner,
}

fn id() -> InstanceId {
    "i-0123456789abcdef0".parse().unwrap()
}

async fn answer(State(other): State<Arc<Other>>, body: Bytes) -> Response {
    let audience = other.key.public();
    let id = id();
    let request: Sealed = serde_json::from_slice(&body).unwrap();
    let place = Place {
        call: Call::Claim,
        audience: &audience,
        instance: &id,
        answers: None,
    };
    let opened = request.open(&other.key, &place).unwrap();
    serde_json::from_slice::<ClaimRequest>(&opened).unwrap();
    let seal = |sender: &PrivateKey, text: &[u8], answers: [u8; 32]| {
        let place = Place {
            answers: Some(answers),
            ..place.clone()
        };
        let sealed = Sealed::seal(text, sender, &request.sender, &place).unwrap();
        serde_json::to_vec(&sealed).unwrap().into_response()
    };
    let refuse = |problem: &Problem| {
        let status = StatusCode::from_u16(problem.status).unwrap();
        let text = serde_json::to_string(problem).unwrap();
        (status, [("content-type", problem::MEDIA_TYPE)], text).into_response()
    };
    match other.manner {
        Manner::Honest => seal(&other.key, ANSWER.as_bytes(), request.hash()),
        Manner::Impostor => seal(&other.impostor, ANSWER.as_bytes(), request.hash()),
        Manner::Swapped => seal(&other.key, ANSWER.as_bytes(), [7; 32]),
        Manner::Nonsense => seal(&other.key, b"{\"token\":\"hush\"}", request.hash()),
        Manner::Garbage => "<html>hello</html>".into_response(),
        Manner::Oversized => vec![b' '; MAX_BODY + 1].into_response(),
        Manner::Status(status) => (StatusCode::from_u16(status).unwrap(), "<html>").into_response(),
        Manner::StatusLater(status, seconds) => {
            let headers = [("retry-after", seconds.to_string())];
            (StatusCode::from_u16(status).unwrap(), headers, "").into_response()
        }
        Manner::Refuse(reason) => refuse(&Problem::new(reason, "not\u{1b}[31m now")),
        Manner::RefuseLater(reason, seconds) => {
            let mut response = refuse(&Problem::new(reason, "later"));
            response.headers_mut().insert("retry-after", seconds.into());
            response
        }
        Manner::RefuseUnknown(type_uri) => refuse(&Problem {
            type_uri: type_uri.to_owned(),
            title: "new".to_owned(),
            status: 503,
        }),
    }
}

fn request() -> ClaimRequest {
    ClaimRequest {
        nonce: rand::random(),
        sts: StsProof {
            region: "eu-central-1".to_owned(),
            date: "20261201T102030Z".to_owned(),
            access_key_id: "ASIAEXAMPLE".to_owned(),
            signature: "0".repeat(64).into(),
            session_token: "quiet".to_owned().into(),
        },
        document: None,
        kubelet_key: [0; 32],
        kubelet_version: "v1.37.2".to_owned(),
        reset: None,
    }
}

fn http() -> reqwest::Client {
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn claim_from(manner: Manner) -> Result<ClaimAnswer, Error> {
    let other = Arc::new(Other {
        key: PrivateKey::generate(),
        impostor: PrivateKey::generate(),
        manner,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let key = other.key.public();
    let router = Router::new().fallback(answer).with_state(other);
    tokio::spawn(async { axum::serve(listener, router).await });
    Provisioner::new(http(), url, key)
        .claim(&id(), &PrivateKey::generate(), &request())
        .await
}

#[tokio::test]
async fn receives_what_was_sealed_for_it() {
    let answer = claim_from(Manner::Honest).await.unwrap();
    assert_eq!(answer.generation, 1);
}

#[test_case(Manner::Refuse(Reason::NotYet), Next::Again; "not yet")]
#[test_case(Manner::Refuse(Reason::NotAnnounced), Next::Again; "not announced")]
#[test_case(Manner::Refuse(Reason::Unavailable), Next::Again; "unavailable")]
#[test_case(Manner::Refuse(Reason::Busy), Next::Again; "busy")]
#[test_case(Manner::RefuseLater(Reason::NotYet, 3), Next::After(Duration::from_secs(3)); "retry after")]
#[test_case(Manner::Refuse(Reason::PoolEmpty), Next::Slowly; "pool empty")]
#[test_case(Manner::Refuse(Reason::NotEligible), Next::Slowly; "not eligible")]
#[test_case(Manner::Refuse(Reason::Malformed), Next::Never; "malformed")]
#[test_case(Manner::Refuse(Reason::NotProven), Next::Never; "not proven")]
#[test_case(Manner::Refuse(Reason::AnotherKey), Next::Never; "another key")]
#[test_case(Manner::Refuse(Reason::AlreadyJoined), Next::Never; "already joined")]
#[test_case(Manner::Refuse(Reason::Gone), Next::Never; "gone")]
#[test_case(Manner::RefuseUnknown("urn:dynk8s:give-up:solar-flare"), Next::Never; "a reason of a later release")]
#[test_case(Manner::RefuseUnknown("about:blank"), Next::Again; "a refusal of somebody else")]
#[test_case(Manner::Status(502), Next::Again; "an ingress without a backend")]
#[test_case(Manner::StatusLater(503, 6), Next::After(Duration::from_secs(6)); "an ingress that asks for time")]
#[test_case(Manner::Status(404), Next::Again; "an ingress without a rule")]
#[test_case(Manner::Status(301), Next::Again; "a redirect")]
#[test_case(Manner::Impostor, Next::Again; "an impostor")]
#[test_case(Manner::Swapped, Next::Again; "an answer to another request")]
#[test_case(Manner::Garbage, Next::Again; "garbage")]
#[test_case(Manner::Oversized, Next::Again; "too long")]
#[test_case(Manner::Nonsense, Next::Again; "sealed nonsense")]
#[tokio::test]
async fn knows_what_to_do_about(manner: Manner, expected: Next) {
    let error = claim_from(manner).await.unwrap_err();
    assert_eq!(decide::next(&error), expected, "{error}");
    let text = decide::chain(&error);
    assert!(!text.contains('\u{1b}') && !text.contains("hush"), "{text}");
}

#[tokio::test]
async fn says_that_an_answer_was_altered() {
    for manner in [Manner::Impostor, Manner::Swapped, Manner::Garbage, Manner::Oversized] {
        let error = claim_from(manner).await.unwrap_err();
        assert!(matches!(error, Error::Altered(_)), "{manner:?}: {error}");
        assert!(decide::remedy(&error).contains("provisioner_key"));
    }
}

#[tokio::test]
async fn names_host_and_port_when_nobody_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let key = PrivateKey::generate().public();
    let provisioner = Provisioner::new(http(), format!("http://{address}").parse().unwrap(), key);
    let error = provisioner
        .claim(&id(), &PrivateKey::generate(), &request())
        .await
        .unwrap_err();
    assert!(decide::chain(&error).contains(&address.to_string()));
    assert!(decide::remedy(&error).contains("443"));
    assert_eq!(decide::next(&error), Next::Again);
}

#[tokio::test]
async fn names_the_way_to_trust_a_private_ca() {
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let identity = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(identity.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _the_client_refuses = acceptor.accept(stream).await;
    });
    let error = Provisioner::new(http(), url, PrivateKey::generate().public())
        .claim(&id(), &PrivateKey::generate(), &request())
        .await
        .unwrap_err();
    assert!(
        decide::remedy(&error).contains("`ca_file`"),
        "{}",
        decide::chain(&error)
    );
    assert_eq!(decide::next(&error), Next::Again);
}
