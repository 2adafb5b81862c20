//! Instance metadata: version 2 only.

use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use dynk8s_api::document::Signed;
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::aws::cloud::{Cloud, Instance};
use dynk8s_lab::aws::imds::{self, Imds};
use dynk8s_lab::aws::server::Server;
use reqwest::{Client, Response};
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use test_case::test_case;

use crate::{ANYWHERE, cloud};

const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const TOKEN: &str = "x-aws-ec2-metadata-token";
const CREDENTIALS: &str = "meta-data/identity-credentials/ec2/security-credentials/ec2-instance";

struct Metadata {
    cloud: Cloud,
    imds: Imds,
    instance: Instance,
    server: Server,
    client: Client,
}

impl Metadata {
    async fn serve() -> Self {
        let (cloud, instance) = cloud();
        let imds = Imds::new(cloud.clone());
        let server = Server::plain(ANYWHERE, imds.routes()).await.unwrap();
        let client = Authority::new("nobody").unwrap().client().unwrap().build().unwrap();
        Self {
            cloud,
            imds,
            instance,
            server,
            client,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/latest/{path}", self.server.address())
    }

    async fn put_token(&self, headers: &[(&str, &str)]) -> Response {
        let request = self.client.put(self.url("api/token"));
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.unwrap()
    }

    async fn token(&self) -> String {
        let answer = self.put_token(&[(TTL, "60")]).await;
        assert_eq!(answer.headers()[TTL], "60");
        answer.text().await.unwrap()
    }

    async fn get(&self, path: &str, token: &str) -> Response {
        self.client
            .get(self.url(path))
            .header(TOKEN, token)
            .send()
            .await
            .unwrap()
    }

    async fn read(&self, path: &str) -> String {
        let answer = self.get(path, &self.token().await).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.unwrap()
    }

    async fn status(&self, path: &str) -> StatusCode {
        self.get(path, &self.token().await).await.status()
    }
}

#[tokio::test]
async fn without_a_token_nothing_is_told() {
    let metadata = Metadata::serve().await;
    let plain = metadata
        .client
        .get(metadata.url("meta-data/instance-id"))
        .send()
        .await
        .unwrap();
    assert_eq!(plain.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        metadata.get("meta-data/instance-id", "invented").await.status(),
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(metadata.read("meta-data/instance-id").await, metadata.instance.id);
}

#[tokio::test]
async fn a_token_of_the_past_is_worth_nothing() {
    let metadata = Metadata::serve().await;
    let token = metadata.token().await;
    assert_eq!(metadata.get("meta-data/mac", &token).await.status(), StatusCode::OK);
    metadata.imds.forget_tokens();
    assert_eq!(
        metadata.get("meta-data/mac", &token).await.status(),
        StatusCode::UNAUTHORIZED
    );
}

#[test_case(&[], StatusCode::BAD_REQUEST; "no lifetime")]
#[test_case(&[(TTL, "soon")], StatusCode::BAD_REQUEST; "no number")]
#[test_case(&[(TTL, "0")], StatusCode::BAD_REQUEST; "too short")]
#[test_case(&[(TTL, "21601")], StatusCode::BAD_REQUEST; "too long")]
#[test_case(&[(TTL, "60"), ("x-forwarded-for", "10.0.0.1")], StatusCode::FORBIDDEN; "through a proxy")]
#[test_case(&[(TTL, "21600")], StatusCode::OK; "longest")]
#[tokio::test]
async fn tokens_are_given_by_the_rules(headers: &[(&str, &str)], status: StatusCode) {
    assert_eq!(Metadata::serve().await.put_token(headers).await.status(), status);
}

#[tokio::test]
async fn the_tree_is_that_of_aws() {
    let metadata = Metadata::serve().await;
    assert_eq!(metadata.read("meta-data/placement/region").await, "eu-central-1");
    assert_eq!(metadata.read("meta-data/placement").await, "availability-zone\nregion");
    assert!(
        metadata
            .read("meta-data/")
            .await
            .lines()
            .any(|line| line == "identity-credentials/")
    );
    assert_eq!(metadata.status("meta-data/tags/instance").await, StatusCode::NOT_FOUND);

    let document: Value = serde_json::from_str(&metadata.read("dynamic/instance-identity/document").await).unwrap();
    assert_eq!(document["instanceId"], metadata.instance.id);
    assert_eq!(document["accountId"], "123456789012");
    let credentials: Value = serde_json::from_str(&metadata.read(CREDENTIALS).await).unwrap();
    assert_eq!(credentials["Code"], "Success");
}

#[tokio::test]
async fn the_document_is_signed_as_aws_signs_it() {
    let metadata = Metadata::serve().await;
    let plain = metadata.read("dynamic/instance-identity/document").await;
    let text = metadata.read("dynamic/instance-identity/rsa2048").await;
    assert!(text.starts_with("MIAGCSqGSIb3DQEHAqCAMIACAQExDzANBglghkgBZQMEAgEFADCABgkqhkiG9w0BBwGggCSABIIB\n"));
    let signed = Signed::parse(&text).unwrap();
    assert_eq!(String::from_utf8(signed.content).unwrap(), plain);
    let certificate =
        rustls::pki_types::CertificateDer::from_pem_slice(imds::certificate().unwrap().as_bytes()).unwrap();
    let contains = |bytes: &[u8]| certificate.windows(bytes.len()).any(|it| it == bytes);
    assert!(contains(&signed.signer.issuer) && contains(&signed.signer.serial));
}

#[tokio::test]
async fn a_stranger_has_no_metadata() {
    let metadata = Metadata::serve().await;
    metadata.cloud.remove(&metadata.instance.id);
    assert_eq!(metadata.status("meta-data/instance-id").await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn faults_last_as_long_as_told() {
    let metadata = Metadata::serve().await;
    metadata.imds.faults().throttle = 1;
    assert_eq!(
        metadata.put_token(&[(TTL, "60")]).await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    metadata.imds.faults().refuse_tokens = 1;
    assert_eq!(metadata.status("meta-data/mac").await, StatusCode::UNAUTHORIZED);
    assert_eq!(metadata.status("meta-data/mac").await, StatusCode::OK);

    metadata.imds.faults().without_credentials = true;
    assert_eq!(metadata.status(CREDENTIALS).await, StatusCode::NOT_FOUND);
    metadata.imds.faults().without_credentials = false;
    assert_eq!(metadata.status(CREDENTIALS).await, StatusCode::OK);

    let replacement = (StatusCode::OK, "<html>".to_owned());
    metadata
        .imds
        .faults()
        .replace
        .insert("/latest/meta-data/mac".to_owned(), replacement);
    assert_eq!(metadata.read("meta-data/mac").await, "<html>");
}

#[tokio::test]
async fn a_slow_service_answers_late() {
    let metadata = Metadata::serve().await;
    metadata.imds.faults().delay = Duration::from_millis(300);
    let started = Instant::now();
    metadata.token().await;
    assert!(started.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn an_absent_service_refuses_connections_until_it_comes() {
    let metadata = Metadata::serve().await;
    metadata.server.close().await;
    let error = metadata.client.put(metadata.url("api/token")).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    metadata.server.open().await;
    assert_eq!(metadata.read("meta-data/instance-id").await, metadata.instance.id);
    let visits = metadata.imds.journal().entries();
    assert_eq!(
        visits.iter().map(|it| it.method.clone()).collect::<Vec<_>>(),
        [Method::PUT, Method::GET]
    );
}
