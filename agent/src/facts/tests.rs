//! The client against a small service of version 2.

use std::net::IpAddr;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_config::imds::client::Client;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use test_case::test_case;
use tokio::net::TcpListener;

use super::{Error, Imds, learn};
use crate::config::CredentialsOf;
use crate::timeline::Recorder;

const DOCUMENT: &str = r#"{"accountId":"123456789012","availabilityZone":"eu-central-1a","instanceId":"i-0123abcd",
    "instanceType":"t4g.small","privateIp":"172.31.0.10","region":"eu-central-1"}"#;

#[derive(Clone, Default)]
struct Service {
    /// So many requests that hold a token are refused as expired.
    expired: Arc<AtomicUsize>,
    /// What the document is answered with.
    document: Option<(u16, &'static str)>,
    /// So many requests are answered with this status.
    busy: Arc<AtomicUsize>,
    busy_status: u16,
    /// Answers to other paths.
    more: &'static [(&'static str, &'static str)],
    disabled: bool,
    has_profile: bool,
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
    if service.busy.load(Ordering::SeqCst) > 0 {
        service.busy.fetch_sub(1, Ordering::SeqCst);
        let status = StatusCode::from_u16(service.busy_status).unwrap();
        return (status, [("content-type", "text/plain")], String::new());
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
        "/latest/meta-data/iam/security-credentials/" if service.has_profile => reply(200, "node\n"),
        "/latest/meta-data/iam/security-credentials/node" if service.has_profile => reply(
            200,
            r#"{"AccessKeyId":"ASIAPROFILE","SecretAccessKey":"hush","Token":"quiet"}"#,
        ),
        "/latest/meta-data/mac" => reply(200, "0a:ff:00:00:00:01"),
        path => match service.more.iter().find(|(it, _)| path.ends_with(it)) {
            Some((_, text)) => reply(200, text),
            None => reply(404, ""),
        },
    }
}

async fn serve(service: Service) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(service);
    tokio::spawn(async { axum::serve(listener, router).await });
    endpoint
}

async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn client(endpoints: &[&str]) -> Imds {
    Imds::build(
        endpoints
            .iter()
            .map(|it| Client::builder().endpoint(it).unwrap())
            .collect(),
    )
}

async fn imds(service: Service) -> Imds {
    client(&[&serve(service).await])
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
    let error = imds(Service::default())
        .await
        .credentials(CredentialsOf::IdentityRole)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Absent { .. }), "{error}");
}

#[tokio::test]
async fn reads_the_credentials_of_the_profiles_role() {
    let service = Service {
        has_profile: true,
        ..Service::default()
    };
    let imds = imds(service).await;
    let credentials = imds.credentials(CredentialsOf::InstanceProfile).await.unwrap();
    assert_eq!(credentials.access_key_id, "ASIAPROFILE");
    let error = imds.credentials(CredentialsOf::IdentityRole).await.unwrap_err();
    assert!(matches!(error, Error::Absent { .. }), "{error}");
}

#[tokio::test]
async fn says_that_there_is_no_profile() {
    let imds = imds(Service::default()).await;
    let error = imds.credentials(CredentialsOf::InstanceProfile).await.unwrap_err();
    assert!(error.to_string().contains("/iam/security-credentials/"), "{error}");
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
    let error = client(&[&nobody().await]).facts().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn asks_over_the_other_family_where_one_does_not_answer() {
    let imds = client(&[&nobody().await, &serve(Service::default()).await]);
    assert_eq!(imds.facts().await.unwrap().id.as_str(), "i-0123abcd");
}

#[test_case(503; "unavailable")]
#[test_case(429; "too many requests")]
#[tokio::test]
async fn waits_while_the_service_is_busy(status: u16) {
    let service = Service {
        busy: Arc::new(AtomicUsize::new(3)),
        busy_status: status,
        ..Service::default()
    };
    let imds = imds(service).await;
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(&folder.path().join("timeline"), jiff::Timestamp::now());
    learn(&imds, Duration::from_secs(20), &recorder).await.unwrap();
}

#[test_case("meta-data/instance-id", "i-0123abce"; "another instance")]
#[test_case("placement/availability-zone", "eu-central-1b"; "another zone")]
#[tokio::test]
async fn believes_no_metadata_that_the_document_denies(path: &'static str, text: &'static str) {
    let service = Service {
        more: Box::leak(Box::new([(path, text)])),
        ..Service::default()
    };
    let error = imds(service).await.facts().await.unwrap_err();
    assert!(matches!(error, Error::Disagree { .. }), "{error}");
}

#[tokio::test]
async fn reads_what_only_some_instances_have() {
    let service = Service {
        more: &[
            ("instance-life-cycle", "spot"),
            ("vpc-ipv4-cidr-blocks", "172.31.0.0/16\n100.64.0.0/16"),
            (
                "spot/instance-action",
                r#"{"action": "stop", "time": "2026-12-02T08:22:00Z"}"#,
            ),
        ],
        ..Service::default()
    };
    let imds = imds(service).await;
    let facts = imds.facts().await.unwrap();
    assert!(facts.is_spot());
    let first: IpAddr = facts.vpc[0].addr();
    assert_eq!((facts.vpc.len(), first), (2, "172.31.0.0".parse().unwrap()));
    assert!(imds.interruption().await.unwrap().is_some());
}

#[tokio::test]
async fn hears_of_no_interruption_where_there_is_none() {
    assert_eq!(imds(Service::default()).await.interruption().await.unwrap(), None);
}
