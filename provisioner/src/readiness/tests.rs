//! Against an API server that comes and goes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use test_case::test_case;
use tokio::sync::watch;
use tokio::time::sleep;
use tower::{ServiceExt as _, service_fn};

use super::{AWAY_AFTER, EVERY, Readiness};
use crate::http::health;
use crate::metrics::Metrics;

struct Stage {
    readiness: Readiness,
    /// What the API server answers; 0 is no answer.
    api_server: Arc<AtomicU16>,
    stop: watch::Sender<bool>,
}

impl Stage {
    async fn start() -> Self {
        let api_server = Arc::new(AtomicU16::new(200));
        let answers = Arc::clone(&api_server);
        let client = service_fn(move |_: Request<kube::client::Body>| {
            let status = answers.load(Ordering::Relaxed);
            async move {
                if status == 0 {
                    sleep(Duration::from_hours(1)).await;
                }
                let answer = Response::builder().status(status).body(kube::client::Body::empty());
                Ok::<_, Infallible>(answer.unwrap())
            }
        });
        let (stop, asked) = watch::channel(false);
        let readiness = Readiness::new(asked.into());
        tokio::spawn(readiness.clone().follow(kube::Client::new(client, "default")));
        let stage = Self {
            readiness,
            api_server,
            stop,
        };
        sleep(Duration::from_millis(1)).await;
        stage
    }

    async fn answer(&self, status: u16, lasting: Duration) {
        self.api_server.store(status, Ordering::Relaxed);
        sleep(lasting).await;
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let router = health::router(self.readiness.clone(), Metrics::default());
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn is_ready(&self) -> bool {
        assert_eq!(self.get("/healthz").await.0, StatusCode::OK, "it lives all the time");
        self.get("/readyz").await.0 == StatusCode::OK
    }
}

#[test_case(503; "one that has lost its etcd")]
#[test_case(0; "one that does not answer")]
#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_is_missed_after_a_while_and_greeted_at_once(status: u16) {
    let stage = Stage::start().await;
    assert!(stage.is_ready().await);
    stage.answer(status, EVERY * 4).await;
    assert!(stage.is_ready().await, "a short absence is nothing");
    stage.answer(status, EVERY * 3).await;
    let (code, why) = stage.get("/readyz").await;
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(why, "the API server has not answered for 30s\n");
    assert!(!stage.is_ready().await);
    stage.answer(200, EVERY * 2).await;
    assert!(stage.is_ready().await);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer() {
    let stage = Stage::start().await;
    stage.answer(403, AWAY_AFTER * 2).await;
    assert!(stage.is_ready().await);
}

#[tokio::test(start_paused = true)]
async fn says_what_it_waits_for() {
    let stage = Stage::start().await;
    stage.readiness.needs("one thing");
    stage.readiness.needs("the other");
    stage.readiness.has("one thing");
    assert_eq!(stage.get("/readyz").await.1, "waits for the other\n");
    stage.readiness.has("the other");
    assert!(stage.is_ready().await);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_sent_to_one_that_was_asked_to_stop() {
    let stage = Stage::start().await;
    stage.stop.send_replace(true);
    assert!(!stage.is_ready().await);
}

#[test]
fn nothing_is_ready_before_the_api_server_has_answered() {
    let (_stop, asked) = watch::channel(false);
    let obstacle = Readiness::new(asked.into()).obstacle();
    assert_eq!(obstacle.as_deref(), Some("the API server has not answered yet"));
}
