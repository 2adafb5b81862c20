//! The client against a small service of version 2.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_config::imds::client::Client;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use test_case::test_case;
use tokio::net::TcpListener;

use super::{Error, Imds};

const DOCUMENT: &str = r#"{"accountId":"123456789012","availabilityZone":"eu-central-1a","instanceId":"i-0123abcd",
    "instanceType":"t4g.small","privateIp":"172.31.0.10","region":"eu-central-1"}"#;

#[derive(Clone, Default)]
struct Service {
    /// So many requests that hold a token are refused as expired.
    expired: Arc<AtomicUsize>,
    /// What the document is answered with.
    document: Option<(u16, &'static str)>,
    disabled: bool,
}

async fn answer(
    State(service): State<Service>,
    request: Request,
) -> (StatusCode, [(&'static str, &'static str); 1], String) {
    let reply = |status: u16, text: &str| {
        let ttl = [("x-aws-ec2-metadata-token-ttl-seconds", "21600")];
        (StatusCode::from_u16(status).unwrap(), ttl, text.to_owned())
    };
    if service.disabled {
        return reply(403, "");
    }
    if request.method() == Method::PUT {
        return reply(200, "TOKEN");
    }
    if request
        .headers()
        .get("x-aws-ec2-metadata-token")
        .is_none_or(|it| it != "TOKEN")
    {
        return reply(401, "");
    }
    if service.expired.load(Ordering::SeqCst) > 0 {
        service.expired.fetch_sub(1, Ordering::SeqCst);
        return reply(401, "");
    }
    match request.uri().path() {
        "/latest/dynamic/instance-identity/document" => {
            let (status, text) = service.document.unwrap_or((200, DOCUMENT));
            reply(status, text)
        }
        "/latest/meta-data/mac" => reply(200, "0a:ff:00:00:00:01"),
        _ => reply(404, ""),
    }
}

async fn imds(service: Service) -> Imds {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(service);
    tokio::spawn(async { axum::serve(listener, router).await });
    Imds::build(Client::builder().endpoint(endpoint).unwrap())
}

#[tokio::test]
async fn reads_the_facts_with_a_token() {
    let facts = imds(Service::default()).await.facts().await.unwrap();
    assert_eq!(facts.id.as_str(), "i-0123abcd");
    assert_eq!(facts.mac.as_deref(), Some("0a:ff:00:00:00:01"));
    assert_eq!(facts.lifecycle, None, "404 is no error");
}

#[tokio::test]
async fn asks_again_when_a_token_has_expired() {
    let service = Service {
        expired: Arc::new(AtomicUsize::new(1)),
        ..Service::default()
    };
    imds(service).await.facts().await.unwrap();
}

#[tokio::test]
async fn says_that_credentials_are_not_there_yet() {
    let error = imds(Service::default()).await.credentials().await.unwrap_err();
    assert!(matches!(error, Error::Absent { .. }), "{error}");
}

#[test_case(404, "" => matches Error::Absent { .. }; "no document")]
#[test_case(500, "" => matches Error::Status { status: 500, .. }; "an error of the service")]
#[test_case(200, "<html>" => matches Error::Malformed { .. }; "something else")]
#[tokio::test]
async fn tells_what_was_wrong_with_the_document(status: u16, text: &'static str) -> Error {
    let service = Service {
        document: Some((status, text)),
        ..Service::default()
    };
    imds(service).await.facts().await.unwrap_err()
}

#[tokio::test]
async fn says_that_the_service_is_disabled() {
    let service = Service {
        disabled: true,
        ..Service::default()
    };
    let error = imds(service).await.facts().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. } | Error::Refused), "{error}");
}

#[tokio::test]
async fn says_that_nobody_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let imds = Imds::build(Client::builder().endpoint(endpoint).unwrap());
    let error = imds.facts().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}
