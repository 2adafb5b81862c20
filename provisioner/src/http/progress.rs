//! `POST /v1/workers/{id}/progress`: advice from the node; nothing is decided by it.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dynk8s_api::envelope::Call;
use dynk8s_api::problem::Reason;
use dynk8s_api::progress::Progress;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::problem::Refusal;
use super::{Shared, body};
use crate::store::Error;
use crate::worker::Journey;

/// Reports that follow one another sooner than this tell nothing that the next one would not.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

pub(super) async fn post(State(shared): State<Arc<Shared>>, Path(id): Path<String>, request: Request) -> Response {
    match record(&shared, &id, request).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => {
            warn!(%refusal, "progress refused");
            refusal.into_response()
        }
    }
}

async fn record(shared: &Shared, id: &str, request: Request) -> Result<(), Refusal> {
    let instance = body::instance(id)?;
    let body = body::read(request).await?;
    let (sealed, report): (_, Progress) = body::open(&body, Call::Progress, &shared.key, &instance)?;
    let store = &shared.claims.store;
    let worker = store.worker(&instance).await.map_err(unavailable)?;
    let status = worker.and_then(|it| it.status).unwrap_or_default();
    let claim = status
        .claim
        .ok_or_else(|| Refusal::new(Reason::NotProven, "the instance has not claimed anything"))?;
    if claim.key != sealed.sender.to_string() {
        return Err(Refusal::new(
            Reason::AnotherKey,
            "the instance was claimed with another key",
        ));
    }
    let journey = Journey::of(report, Timestamp::now());
    if !is_news(status.journey.as_ref(), &journey) {
        return Ok(());
    }
    info!(%instance, outcome = journey.outcome, error = journey.error, "progress reported");
    store
        .report(&instance, json!({ "journey": patch(&journey) }))
        .await
        .map_err(unavailable)
}

fn is_news(before: Option<&Journey>, now: &Journey) -> bool {
    before.is_none_or(|it| it.outcome != now.outcome || now.time.duration_since(it.time) >= PAUSE)
}

/// The report as a merge patch that leaves nothing of the one before.
fn patch(journey: &Journey) -> Value {
    let mut patch = json!({ "error": null, "log": null });
    if let (Value::Object(patch), Ok(Value::Object(journey))) = (&mut patch, serde_json::to_value(journey)) {
        patch.extend(journey);
    }
    patch
}

fn unavailable(error: Error) -> Refusal {
    warn!(
        error = format!("{:#}", anyhow::Error::new(error)),
        "failed to record progress"
    );
    Refusal::new(Reason::Unavailable, "the cluster's API server could not be asked")
}

#[cfg(test)]
mod tests {
    use dynk8s_api::progress::{Outcome, Progress};
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;
    use test_case::test_case;

    use super::{is_news, patch};
    use crate::worker::Journey;

    fn journey(outcome: Outcome, error: Option<&str>, milliseconds: i64) -> Journey {
        let report = Progress {
            outcome,
            steps: Vec::new(),
            error: error.map(str::to_owned),
            log: Vec::new(),
        };
        Journey::of(
            report,
            Timestamp::UNIX_EPOCH + SignedDuration::from_millis(milliseconds),
        )
    }

    #[test_case(Outcome::Running, 0, Outcome::Running, 999, false; "too soon")]
    #[test_case(Outcome::Running, 0, Outcome::Running, 1000, true; "a second later")]
    #[test_case(Outcome::Running, 0, Outcome::Failed, 1, true; "the end is always news")]
    fn not_every_report_is_written(before: Outcome, then: i64, after: Outcome, now: i64, news: bool) {
        assert_eq!(
            is_news(Some(&journey(before, None, then)), &journey(after, None, now)),
            news
        );
    }

    #[test]
    fn a_report_replaces_the_one_before() {
        assert_eq!(patch(&journey(Outcome::Running, None, 0))["error"], json!(null));
        assert_eq!(patch(&journey(Outcome::Failed, Some("why"), 0))["error"], json!("why"));
    }
}
