//! An AWS that answers what it is told to, one answer after another, and checks signatures with the signer's own arithmetic.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::ec2::Client;

pub(super) const INSTANCES: &str = include_str!("../../../testdata/ec2/instances.xml");
pub(super) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const NAMES: [&str; 4] = [
    "autoscaling.eu-central-1.amazonaws.com",
    "ec2.eu-central-1.amazonaws.com",
    "sns.eu-central-1.amazonaws.com",
    "sts.eu-central-1.amazonaws.com",
];

pub(super) struct Fake {
    address: SocketAddr,
    certificate: String,
    state: Arc<Script>,
}

struct Script {
    answers: Mutex<VecDeque<(StatusCode, String)>>,
    asked: Mutex<Vec<Asked>>,
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) body: String,
    pub(super) is_signed: bool,
}

fn credentials() -> Credentials {
    Credentials::new(
        "AKIAIOSFODNN7EXAMPLE",
        SECRET,
        Some("token/+=".to_owned()),
        None,
        "test",
    )
}

impl Fake {
    pub(super) async fn answering(answers: impl IntoIterator<Item = (StatusCode, String)>) -> Self {
        // Another test may have chosen the same provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(NAMES.map(str::to_owned)).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let state = Arc::new(Script {
            answers: Mutex::new(answers.into_iter().collect()),
            asked: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(tls)), router));
        Self {
            address,
            certificate: certificate.pem(),
            state,
        }
    }

    pub(super) fn client(&self) -> Client {
        let trusted = reqwest::Certificate::from_pem(self.certificate.as_bytes()).unwrap();
        let http = NAMES
            .iter()
            .fold(reqwest::Client::builder(), |it, name| it.resolve(name, self.address));
        let http = http
            .tls_certs_only([trusted])
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(Duration::from_secs(5))
            .build()
            .unwrap();
        Client::new(http, SharedCredentialsProvider::new(credentials()))
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

pub(super) fn error(code: &str) -> String {
    format!("<Response><Errors><Error><Code>{code}</Code><Message>m</Message></Error></Errors></Response>")
}

pub(super) fn instances(ids: &[&str], next: Option<&str>) -> String {
    let instance = |id: &&str| {
        format!(
            "<item><ownerId>123456789012</ownerId><instancesSet><item><instanceId>{id}</instanceId><instanceState>\
             <name>running</name></instanceState><instanceType>m7g.large</instanceType><placement>\
             <availabilityZone>eu-central-1a</availabilityZone></placement></item></instancesSet></item>"
        )
    };
    let items: String = ids.iter().map(instance).collect();
    let next = next.map_or_else(String::new, |it| format!("<nextToken>{it}</nextToken>"));
    format!(
        "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><reservationSet>{items}\
         </reservationSet>{next}</DescribeInstancesResponse>"
    )
}

pub(super) fn tags(tags: &[(&str, &str, &str)]) -> String {
    let tag = |(group, key, value): &(&str, &str, &str)| {
        format!("<member><ResourceId>{group}</ResourceId><Key>{key}</Key><Value>{value}</Value></member>")
    };
    let tags: String = tags.iter().map(tag).collect();
    format!(
        "<DescribeTagsResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><DescribeTagsResult><Tags>{tags}\
         </Tags></DescribeTagsResult></DescribeTagsResponse>"
    )
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, router: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(router.clone());
        let handshake = tls.accept(stream);
        tokio::spawn(async move {
            let stream = TokioIo::new(handshake.await.unwrap());
            // The client ends it.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(stream, service)
                .await;
        });
    }
}

async fn answer(State(script): State<Arc<Script>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let host = parts.headers["host"].to_str().unwrap().to_owned();
    script.asked.lock().unwrap().push(Asked {
        is_signed: is_signed(&host, &parts.headers, &body),
        body: String::from_utf8(body.to_vec()).unwrap(),
        host,
    });
    let answer = script.answers.lock().unwrap().pop_front();
    answer.unwrap_or((StatusCode::NOT_FOUND, String::new())).into_response()
}

/// Signs what arrived, as of its own date, and compares.
fn is_signed(host: &str, headers: &HeaderMap, body: &Bytes) -> bool {
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    let header = |name: &str| headers[name].to_str().unwrap();
    let date = DateTime::strptime("%Y%m%dT%H%M%SZ", header("x-amz-date")).unwrap();
    let identity = credentials().into();
    let parameters = aws_sigv4::sign::v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-central-1")
        .name(host.split('.').next().unwrap())
        .time(SystemTime::from(date.to_zoned(TimeZone::UTC).unwrap().timestamp()))
        .settings(SigningSettings::default())
        .build()
        .unwrap()
        .into();
    let signed = [("content-type", header("content-type"))].into_iter();
    let request = SignableRequest::new("POST", format!("https://{host}/"), signed, SignableBody::Bytes(body)).unwrap();
    let instructions = sign(request, &parameters).unwrap().into_parts().0;
    let right = instructions.headers().find(|(name, _)| *name == "authorization");
    right.is_some_and(|(_, value)| value == header("authorization")) && header("x-amz-security-token") == "token/+="
}
