//! The process that answers may be killed at any moment: what was promised is in the API server by then.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::time::sleep;
use tower::ServiceExt as _;

use super::aws::ID;
use super::place::{Agent, Place};

/// Begins a claim and lets it go after so many steps; whether it was answered by then.
async fn begin(place: &Place, agent: &Agent, steps: usize) -> bool {
    let request = Request::post(format!("/v1/workers/{ID}/claim"));
    let request = request.body(Body::from(agent.sealed(None).1)).unwrap();
    let mut answer = Box::pin(place.router.clone().oneshot(request));
    for _ in 0..steps {
        if poll_fn(|it| Poll::Ready(answer.as_mut().poll(it).is_ready())).await {
            return true;
        }
        sleep(Duration::from_millis(2)).await;
    }
    false
}

#[tokio::test]
async fn a_claim_that_is_cut_off_anywhere_gets_the_same_answer_when_it_asks_again() {
    let mut steps = 0;
    let mut before = None;
    loop {
        let place = Place::start().await;
        place.announce("running").await;
        let agent = place.agent();
        let answered = begin(&place, &agent, steps).await;
        let answer = agent.claim(None).await.unwrap();
        assert_eq!(agent.claim(None).await.unwrap(), answer);
        assert_eq!(*before.get_or_insert(answer.clone()), answer, "after {steps} steps");
        if answered {
            break;
        }
        steps += 1 + steps / 8;
    }
    assert!(steps > 3, "{steps}");
}
