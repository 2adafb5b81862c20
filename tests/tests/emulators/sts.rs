//! The Security Token Service, asked with what the real signer of AWS makes.

use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use dynk8s_api::binding::{
    AUDIENCE_HEADER, BINDING_HEADER, STS_BODY, STS_CONTENT_TYPE, STS_SIGNED_HEADERS, binding, sts_host,
};
use dynk8s_api::{InstanceId, PrivateKey};
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::cloud::{Cloud, Credentials, Instance};
use dynk8s_lab::aws::server::Server;
use dynk8s_lab::aws::sts::Sts;
use serde_json::Value;
use test_case::test_case;

use crate::{ANYWHERE, cloud};

struct Region {
    cloud: Cloud,
    sts: Sts,
    instance: Instance,
    _server: Server,
    client: reqwest::Client,
}

/// A request that is signed, or was before it was altered.
#[derive(Clone)]
struct Signed {
    headers: HeaderMap,
    body: String,
}

impl Region {
    async fn serve() -> Self {
        let (cloud, instance) = cloud();
        let sts = Sts::new(cloud.clone());
        let authority = Authority::new("AWS").unwrap();
        let identity = authority.identity(&[&sts.host()]).unwrap();
        let server = Server::tls(ANYWHERE, sts.routes(), identity).await.unwrap();
        let client = authority
            .client()
            .unwrap()
            .resolve(&sts.host(), server.address())
            .build()
            .unwrap();
        Self {
            cloud,
            sts,
            instance,
            _server: server,
            client,
        }
    }

    fn sign(&self) -> Signed {
        sign_at(
            SystemTime::now(),
            &self.cloud.credentials_of(&self.instance.id),
            &self.instance,
        )
    }

    async fn ask(&self, Signed { headers, body }: Signed) -> (StatusCode, String) {
        let request = self.client.post(format!("https://{}/", self.sts.host()));
        let answer = request.headers(headers).body(body).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }
}

/// Signs as the agent does.
fn sign_at(time: SystemTime, credentials: &Credentials, instance: &Instance) -> Signed {
    let host = sts_host("eu-central-1");
    let key = PrivateKey::generate().public();
    let instance: InstanceId = instance.id.parse().unwrap();
    let headers = [
        ("content-type", STS_CONTENT_TYPE.to_owned()),
        ("host", host.clone()),
        (AUDIENCE_HEADER, "the provisioner's key".to_owned()),
        (BINDING_HEADER, binding(&instance, &key, &[7; 32])),
    ];
    let identity = aws_credential_types::Credentials::new(
        &credentials.access_key_id,
        &credentials.secret_access_key,
        Some(credentials.token.clone()),
        None,
        "test",
    )
    .into();
    let parameters = SigningParams::builder()
        .identity(&identity)
        .region("eu-central-1")
        .name("sts")
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .unwrap()
        .into();
    let pairs = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let url = format!("https://{host}/");
    let request = SignableRequest::new("POST", &url, pairs, SignableBody::Bytes(STS_BODY.as_bytes())).unwrap();
    let (instructions, _) = sign(request, &parameters).unwrap().into_parts();
    let mut request = http::Request::post(url).body(()).unwrap();
    for (name, value) in &headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    instructions.apply_to_request_http1x(&mut request);
    Signed {
        headers: request.headers().clone(),
        body: STS_BODY.to_owned(),
    }
}

fn code(answer: &str) -> &str {
    let after = answer.split_once("<Code>").map_or("", |(_, after)| after);
    after.split_once("</Code>").map_or("", |(code, _)| code)
}

#[tokio::test]
async fn the_agents_signature_names_the_instance() {
    let region = Region::serve().await;
    let signed = region.sign();
    let authorization = signed.headers["authorization"].to_str().unwrap();
    assert!(
        authorization.contains(&format!("SignedHeaders={STS_SIGNED_HEADERS},")),
        "{authorization}"
    );
    let (status, answer) = region.ask(signed).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let id = &region.instance.id;
    for element in [
        format!("<Arn>arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/{id}</Arn>"),
        format!("<UserId>123456789012:aws:ec2-instance:{id}</UserId>"),
        "<Account>123456789012</Account>".to_owned(),
    ] {
        assert!(answer.contains(&element), "no {element} in {answer}");
    }
}

#[tokio::test]
async fn who_asks_for_json_gets_it() {
    let region = Region::serve().await;
    let mut signed = region.sign();
    signed
        .headers
        .insert("accept", HeaderValue::from_static("application/json"));
    let (_, answer) = region.ask(signed).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let result = &answer["GetCallerIdentityResponse"]["GetCallerIdentityResult"];
    assert_eq!(
        result["UserId"],
        format!("123456789012:aws:ec2-instance:{}", region.instance.id)
    );
}

/// Replaces a text in a header.
fn alter(signed: &mut Signed, header: &'static str, from: &str, to: &str) {
    let value = signed.headers[header].to_str().unwrap();
    assert!(value.contains(from), "{header}: {value}");
    let altered = value.replacen(from, to, 1).parse().unwrap();
    signed.headers.insert(header, altered);
}

fn another_signature(signed: &mut Signed) {
    let end = signed.headers["authorization"]
        .to_str()
        .unwrap()
        .chars()
        .last()
        .unwrap();
    let other = if end == '0' { "1" } else { "0" };
    let text = signed.headers["authorization"].to_str().unwrap();
    let altered = format!("{}{other}", &text[..text.len() - 1]);
    signed.headers.insert("authorization", altered.parse().unwrap());
}

#[test_case(another_signature, "SignatureDoesNotMatch"; "signature")]
#[test_case(|it| it.body.push('&'), "SignatureDoesNotMatch"; "body")]
#[test_case(|it| alter(it, AUDIENCE_HEADER, "provisioner", "impostor"), "SignatureDoesNotMatch"; "audience")]
#[test_case(|it| drop(it.headers.insert(BINDING_HEADER, HeaderValue::from_static("0"))), "SignatureDoesNotMatch"; "binding")]
#[test_case(|it| drop(it.headers.remove(BINDING_HEADER)), "SignatureDoesNotMatch"; "signed header missing")]
#[test_case(|it| drop(it.headers.insert("x-amz-more", HeaderValue::from_static("1"))), "SignatureDoesNotMatch"; "header of AWS not signed")]
#[test_case(|it| alter(it, "host", "eu-central-1", "eu-west-1"), "SignatureDoesNotMatch"; "host")]
#[test_case(|it| alter(it, "authorization", "/eu-central-1/", "/eu-west-1/"), "SignatureDoesNotMatch"; "region of the scope")]
#[test_case(|it| alter(it, "authorization", "/sts/", "/iam/"), "SignatureDoesNotMatch"; "service of the scope")]
#[test_case(|it| alter(it, "x-amz-date", "T", "T0"), "IncompleteSignature"; "date without form")]
#[test_case(|it| alter(it, "authorization", "ASIA", "ASIB"), "InvalidClientTokenId"; "key id")]
#[test_case(|it| alter(it, "x-amz-security-token", "=", ""), "InvalidClientTokenId"; "session token")]
#[test_case(|it| drop(it.headers.remove("authorization")), "MissingAuthenticationToken"; "no signature")]
#[test_case(|it| it.body = it.body.replace("GetCallerIdentity", "GetSessionToken"), "InvalidAction"; "action")]
#[tokio::test]
async fn what_was_altered_is_refused(change: fn(&mut Signed), expected: &str) {
    let region = Region::serve().await;
    let mut signed = region.sign();
    change(&mut signed);
    let (status, answer) = region.ask(signed).await;
    assert_eq!(code(&answer), expected, "{status} {answer}");
    assert!(status.is_client_error(), "{status}");
    assert!(answer.starts_with("<ErrorResponse xmlns="), "{answer}");
    if !["IncompleteSignature", "InvalidAction"].contains(&expected) {
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
}

#[test_case(-16, false; "too old")]
#[test_case(-14, true; "old")]
#[test_case(14, true; "ahead")]
#[test_case(16, false; "too far ahead")]
#[tokio::test]
async fn a_signature_is_good_for_a_quarter_of_an_hour(minutes: i64, accepted: bool) {
    let region = Region::serve().await;
    let credentials = region.cloud.credentials_of(&region.instance.id);
    let distance = Duration::from_mins(minutes.unsigned_abs());
    let now = SystemTime::now();
    let time = if minutes < 0 { now - distance } else { now + distance };
    let (status, answer) = region.ask(sign_at(time, &credentials, &region.instance)).await;
    assert_eq!(status == StatusCode::OK, accepted, "{answer}");
    assert_eq!(code(&answer), if accepted { "" } else { "SignatureDoesNotMatch" });
}

#[tokio::test]
async fn expired_credentials_are_refused_and_fresh_ones_follow() {
    let region = Region::serve().await;
    let signed = region.sign();
    region.cloud.expire_credentials(&region.instance.id);
    let (status, answer) = region.ask(signed).await;
    assert_eq!((status, code(&answer)), (StatusCode::FORBIDDEN, "ExpiredToken"));
    assert_eq!(region.ask(region.sign()).await.0, StatusCode::OK);
}

#[tokio::test]
async fn faults_last_as_long_as_told() {
    let region = Region::serve().await;
    region.sts.faults().throttle = 1;
    let (status, answer) = region.ask(region.sign()).await;
    assert_eq!((status, code(&answer)), (StatusCode::BAD_REQUEST, "Throttling"));
    region.sts.faults().unavailable = 1;
    assert_eq!(region.ask(region.sign()).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(region.ask(region.sign()).await.0, StatusCode::OK);
    region.sts.faults().replace = Some((StatusCode::OK, "anything".to_owned()));
    assert_eq!(region.ask(region.sign()).await.1, "anything");

    let outcomes: Vec<_> = region
        .sts
        .journal()
        .entries()
        .into_iter()
        .map(|call| call.outcome.is_ok())
        .collect();
    assert_eq!(outcomes, [false, false, true, true]);
}
