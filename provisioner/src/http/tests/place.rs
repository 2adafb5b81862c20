//! A provisioner with everything around it, and agents that speak to it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use dynk8s_api::binding::binding;
use dynk8s_api::claim::{ClaimAnswer, ClaimRequest, StsProof};
use dynk8s_api::envelope::{self, Call, Sealed};
use dynk8s_api::problem::{Problem, Reason};
use dynk8s_api::{PrivateKey, PublicKey, Secret};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::net::TcpListener;

use super::aws::{FakeAws, ID, notification};
use super::cluster::FakeCluster;
use crate::claim::Claims;
use crate::claim::cluster::Cluster;
use crate::config::Config;
use crate::http::{Pace, Shared, router, server};
use crate::metrics::Metrics;
use crate::proof::fixture::{self, Made};
use crate::proof::sts::Sts;
use crate::sns::Verifier;
use crate::store::Store;
use crate::view::View;

pub(super) struct Place {
    pub(super) aws: FakeAws,
    pub(super) cluster: FakeCluster,
    pub(super) metrics: Metrics,
    pub(super) router: Router,
    pub(super) shared: Arc<Shared>,
    /// Of the instance, whose agents all show the same one.
    document: String,
    audience: PublicKey,
    base: String,
}

impl Place {
    pub(super) async fn start() -> Self {
        Self::start_for("").await
    }

    /// With these keys for its node group.
    pub(super) async fn start_for(keys: &str) -> Self {
        let sample = include_str!("../../../testdata/provisioner.toml");
        let sample = sample.replace("[node_group.labels]", &format!("{keys}\n[node_group.labels]"));
        let config: Config = toml::from_str(&sample).unwrap();
        assert_eq!(config.faults(), []);
        Self::start_with(config).await
    }

    pub(super) async fn start_with(mut config: Config) -> Self {
        let aws = FakeAws::start().await;
        let cluster = FakeCluster::default();
        cluster.lock().has_keys = true;
        let metrics = Metrics::default();
        let (view, watching) = View::new(cluster.client(&metrics), "dynk8s-system");
        tokio::spawn(watching);
        let key = PrivateKey::generate();
        let audience = key.public();
        config
            .proof
            .trust(fixture::certificates("eu-central-1", &fixture::pem()));
        let claims = Claims {
            config: config.into(),
            store: Store::new(cluster.client(&metrics), "dynk8s-system"),
            view,
            sts: Sts::new(aws.client(), audience, metrics.clone()),
            cluster: Cluster::default(),
            patience: Duration::from_millis(500),
        };
        let sns = Verifier::new(aws.client());
        let shared = Arc::new(Shared {
            key,
            claims,
            sns,
            metrics: metrics.clone(),
            pace: Pace::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = router(Arc::clone(&shared));
        tokio::spawn(server::serve(listener, router.clone(), std::future::pending()));
        Self {
            aws,
            cluster,
            metrics,
            router,
            shared,
            document: document(ID, SignedDuration::ZERO),
            audience,
            base,
        }
    }

    pub(super) async fn post(&self, path: &str, body: String) -> (StatusCode, String) {
        post(self.url(path), body).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(super) async fn announce(&self, state: &str) -> StatusCode {
        self.post("/sns", notification(state).to_string()).await.0
    }

    /// Whether so many messages ended like this.
    pub(super) fn counted(&self, outcome: &str, times: usize) -> bool {
        let line = format!("dynk8s_sns_messages_total{{outcome=\"{outcome}\"}} {times}");
        self.metrics.text().lines().any(|it| it == line)
    }

    /// How often the API server was asked for anything.
    pub(super) fn requests_to_the_api_server(&self) -> u64 {
        let text = self.metrics.text();
        let counts = text.lines().filter(|it| it.starts_with("dynk8s_api_requests_total{"));
        counts.filter_map(|it| it.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
    }

    pub(super) fn questions_to_sts(&self) -> usize {
        self.aws
            .requests()
            .iter()
            .filter(|it| it.starts_with("POST sts."))
            .count()
    }

    /// An agent on the instance, with a claim key of its own.
    pub(super) fn agent(&self) -> Agent {
        let key = PrivateKey::generate();
        Agent {
            public: key.public(),
            key,
            audience: self.audience,
            base: self.base.clone(),
            signature: "a".repeat(64),
            document: Some(self.document.clone()),
        }
    }
}

/// The document of an instance that was started so long ago.
pub(super) fn document(instance: &str, ago: SignedDuration) -> String {
    let started = (Timestamp::now() - ago).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let content = fixture::content(instance).replace("2026-12-01T12:00:00Z", &started);
    let made = Made {
        content: &content,
        ..Made::default()
    };
    made.text()
}

pub(super) struct Agent {
    key: PrivateKey,
    /// Deriving it takes a while.
    public: PublicKey,
    audience: PublicKey,
    base: String,
    pub(super) signature: String,
    pub(super) document: Option<String>,
}

impl Agent {
    pub(super) async fn claim(&self, reset: Option<u32>) -> Result<ClaimAnswer, Reason> {
        let (request, body) = self.sealed(reset);
        self.send(&request, body).await
    }

    /// The same claim past the envelope, which is what takes the time.
    pub(super) async fn claim_opened(&self, place: &Place, instance: &str) -> Result<ClaimAnswer, Reason> {
        let id = instance.parse().unwrap();
        let answer = place.shared.claims.answer(&id, self.public, self.request(None)).await;
        answer.map_err(|it| it.reason)
    }

    /// Sends a captured request again.
    pub(super) async fn send(&self, request: &Sealed, body: String) -> Result<ClaimAnswer, Reason> {
        let (status, body) = post(format!("{}/v1/workers/{ID}/claim", self.base), body).await;
        if status != StatusCode::OK {
            let problem: Problem = serde_json::from_str(&body).unwrap();
            assert_eq!(problem.status, status.as_u16());
            return Err(problem.reason().unwrap());
        }
        let answer: Sealed = serde_json::from_str(&body).unwrap();
        assert_eq!(answer.sender, self.audience);
        let opened = self.with_place(Call::Claim, Some(request.hash()), |place| answer.open(&self.key, place));
        Ok(serde_json::from_slice(&opened.unwrap()).unwrap())
    }

    /// What its proof is to be signed over.
    pub(super) fn binding(&self) -> (String, String) {
        let binding = binding(&ID.parse().unwrap(), &self.public, &[1; 32]);
        (self.audience.to_string(), binding)
    }

    pub(super) fn request(&self, reset: Option<u32>) -> ClaimRequest {
        ClaimRequest {
            nonce: [7; 32],
            sts: StsProof {
                region: "eu-central-1".to_owned(),
                date: Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string(),
                access_key_id: "ASIA0123456789ABCDEF".to_owned(),
                signature: Secret::new(self.signature.clone()),
                session_token: Secret::new("token".to_owned()),
            },
            document: self.document.clone().map(Secret::new),
            kubelet_key: [1; 32],
            kubelet_version: "v1.37.2".to_owned(),
            reset,
        }
    }

    pub(super) fn sealed(&self, reset: Option<u32>) -> (Sealed, String) {
        let request = self.request(reset);
        self.seal(Call::Claim, &serde_json::to_vec(&request).unwrap())
    }

    pub(super) async fn report(&self, outcome: &str) -> StatusCode {
        self.report_error(outcome, None).await.0
    }

    pub(super) async fn report_error(&self, outcome: &str, error: Option<&str>) -> (StatusCode, String) {
        self.report_json(&json!({ "outcome": outcome, "steps": [], "error": error }))
            .await
    }

    pub(super) async fn report_json(&self, report: &serde_json::Value) -> (StatusCode, String) {
        let (_, body) = self.seal(Call::Progress, &serde_json::to_vec(report).unwrap());
        post(format!("{}/v1/workers/{ID}/progress", self.base), body).await
    }

    fn seal(&self, call: Call, message: &[u8]) -> (Sealed, String) {
        let sealed = self.with_place(call, None, |place| {
            Sealed::seal(message, &self.key, &self.audience, place)
        });
        let sealed = sealed.unwrap();
        let body = serde_json::to_string(&sealed).unwrap();
        (sealed, body)
    }

    fn with_place<T>(&self, call: Call, answers: Option<[u8; 32]>, act: impl FnOnce(&envelope::Place<'_>) -> T) -> T {
        act(&envelope::Place {
            call,
            audience: &self.audience,
            instance: &ID.parse().unwrap(),
            answers,
        })
    }
}

async fn post(url: String, body: String) -> (StatusCode, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.post(url).body(body).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}
