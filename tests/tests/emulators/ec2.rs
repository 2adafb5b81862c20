//! EC2 and Auto Scaling, asked with what the real signer of AWS makes.

use std::time::SystemTime;

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use axum::http::StatusCode;
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::cloud::{Cloud, Credentials, Instance};
use dynk8s_lab::aws::ec2::{Ec2, Faults};
use dynk8s_lab::aws::server::Server;
use test_case::test_case;

use crate::{ANYWHERE, cloud};

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

struct Region {
    cloud: Cloud,
    ec2: Ec2,
    instance: Instance,
    _server: Server,
    client: reqwest::Client,
}

impl Region {
    async fn serve() -> Self {
        let (cloud, instance) = cloud();
        let ec2 = Ec2::new(cloud.clone());
        let authority = Authority::new("AWS").unwrap();
        let hosts = ec2.hosts();
        let identity = authority.identity(&[&hosts[0], &hosts[1]]).unwrap();
        let server = Server::tls(ANYWHERE, ec2.routes(), identity).await.unwrap();
        let client = authority.client().unwrap();
        let client = hosts.iter().fold(client, |it, host| it.resolve(host, server.address()));
        Self {
            cloud,
            ec2,
            instance,
            _server: server,
            client: client.build().unwrap(),
        }
    }

    async fn ask(&self, service: &str, body: &str) -> (StatusCode, String) {
        let credentials = self.cloud.credentials_of("provisioner");
        self.ask_as(&credentials, service, body).await
    }

    async fn ask_as(&self, credentials: &Credentials, service: &str, body: &str) -> (StatusCode, String) {
        let url = format!("https://{service}.eu-central-1.amazonaws.com/");
        let (key, secret) = (&credentials.access_key_id, &credentials.secret_access_key);
        let token = Some(credentials.token.clone());
        let identity = aws_credential_types::Credentials::new(key, secret, token, None, "test").into();
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region("eu-central-1")
            .name(service)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .unwrap()
            .into();
        let headers = [("content-type", FORM)].into_iter();
        let request = SignableRequest::new("POST", &url, headers, SignableBody::Bytes(body.as_bytes())).unwrap();
        let instructions = sign(request, &parameters).unwrap().into_parts().0;
        let mut request = self
            .client
            .post(&url)
            .header("content-type", FORM)
            .body(body.to_owned());
        for (name, value) in instructions.headers() {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    fn question(&self) -> String {
        format!(
            "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=instance-id&Filter.1.Value.1={}\
             &Filter.1.Value.2=i-0000000000000dead",
            self.instance.id
        )
    }
}

#[tokio::test]
async fn an_instance_is_described_as_it_is_and_an_unknown_one_is_not_there() {
    let region = Region::serve().await;
    region.ec2.tag(&region.instance.id, "Name", "a & b");
    region.ec2.set_state(&region.instance.id, "stopping");
    let (status, answer) = region.ask("ec2", &region.question()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    for element in [
        format!("<instanceId>{}</instanceId>", region.instance.id),
        "<ownerId>123456789012</ownerId>".to_owned(),
        "<name>stopping</name>".to_owned(),
        "<key>Name</key><value>a &amp; b</value>".to_owned(),
    ] {
        assert!(answer.contains(&element), "no {element} in {answer}");
    }
    assert!(!answer.contains("dead") && !answer.contains("nextToken"), "{answer}");
    region.cloud.remove(&region.instance.id);
    let (_, answer) = region.ask("ec2", &region.question()).await;
    assert!(answer.contains("<reservationSet></reservationSet>"), "{answer}");
}

#[tokio::test]
async fn groups_have_tags_of_their_own() {
    let region = Region::serve().await;
    region.ec2.tag_group("burst", "a/b", "1");
    region.ec2.tag_group("other", "c", "2");
    let filter = "Filters.member.1.Name=auto-scaling-group&Filters.member.1.Values.member.1=burst";
    let question = format!("Action=DescribeTags&Version=2011-01-01&{filter}");
    let (status, answer) = region.ask("autoscaling", &question).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(
        answer.contains("<Key>a/b</Key><Value>1</Value>") && !answer.contains("other"),
        "{answer}"
    );
}

#[tokio::test]
async fn nobody_is_told_anything_without_credentials() {
    let region = Region::serve().await;
    let mut forged = region.cloud.credentials_of("provisioner");
    forged.secret_access_key.push('x');
    let (status, answer) = region.ask_as(&forged, "ec2", &region.question()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(answer.contains("<Code>SignatureDoesNotMatch</Code>"), "{answer}");
    let unknown = Cloud::new("123456789012", "eu-central-1").credentials_of("nobody");
    let (_, answer) = region.ask_as(&unknown, "ec2", &region.question()).await;
    assert!(answer.contains("<Code>AuthFailure</Code>"), "{answer}");
}

#[test_case("ec2", "Action=TerminateInstances&Version=2016-11-15", "InvalidAction"; "what nobody needs")]
#[test_case("ec2", "Action=DescribeInstances&Version=2016-11-15", "InvalidParameterValue"; "about all instances")]
#[test_case("autoscaling", "Action=DescribeInstances&Version=2016-11-15", "InvalidAction"; "of the other service")]
#[tokio::test]
async fn other_questions_are_refused(service: &str, question: &str, code: &str) {
    let region = Region::serve().await;
    let (status, answer) = region.ask(service, question).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(answer.contains(&format!("<Code>{code}</Code>")), "{answer}");
}

#[test_case(Faults { throttle: 1, ..Faults::default() }, "RequestLimitExceeded"; "throttled")]
#[test_case(Faults { empty_pages: 1, ..Faults::default() }, "<nextToken>next</nextToken>"; "an empty page")]
#[test_case(Faults { circle: true, ..Faults::default() }, "<nextToken>next</nextToken>"; "pages in a circle")]
#[test_case(Faults { blind: true, ..Faults::default() }, "<reservationSet></reservationSet>"; "blind")]
#[test_case(Faults { account: Some("999999999999".to_owned()), ..Faults::default() }, "<ownerId>999999999999</ownerId>"; "another account")]
#[test_case(Faults { padding: 1 << 20, ..Faults::default() }, "    "; "a long answer")]
#[tokio::test]
async fn misbehaves_on_demand(faults: Faults, sign: &str) {
    let region = Region::serve().await;
    *region.ec2.faults() = faults;
    let (_, answer) = region.ask("ec2", &region.question()).await;
    assert!(answer.contains(sign), "{answer}");
}

#[tokio::test]
async fn an_answer_can_be_cut_off() {
    let region = Region::serve().await;
    region.ec2.faults().cut = Some(100);
    let (_, answer) = region.ask("ec2", &region.question()).await;
    assert_eq!(answer.len(), 100);
}
