//! `POST /v1/workers/{id}/progress`: advice from the node; nothing is decided by it.

mod pace;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dynk8s_api::envelope::Call;
use dynk8s_api::problem::Reason;
use dynk8s_api::progress::Progress;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{info, warn};

pub use self::pace::Pace;
use super::problem::Refusal;
use super::{Shared, body};
use crate::store::Error;
use crate::worker::Journey;

/// How long a report waits for the first list of Workers, after a start.
const PATIENCE: Duration = Duration::from_secs(5);

const UNAVAILABLE: &str = "the cluster's API server could not be asked";

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
    if !report.fits() {
        return Err(Refusal::new(
            Reason::Malformed,
            "the findings exceed the protocol's bounds",
        ));
    }
    let claims = &shared.claims;
    timeout(PATIENCE, claims.view.synced())
        .await
        .map_err(|_| Refusal::new(Reason::Unavailable, UNAVAILABLE))?;
    // Anybody can seal an envelope: what he sends costs the API server nothing, and he learns of no instance whether it
    // is one of ours.
    let worker = claims.view.worker(&instance);
    let claim = worker.as_ref().and_then(|it| it.status.as_ref()?.claim.as_ref());
    if claim.is_none_or(|it| it.key != sealed.sender.to_string()) {
        let text = "the report is not sealed with the key that the instance was claimed with";
        return Err(Refusal::new(Reason::NotProven, text));
    }
    if !shared.pace.allows(&instance, report.outcome).await {
        return Ok(());
    }
    let journey = Journey::of(report, Timestamp::now());
    info!(%instance, outcome = journey.outcome, error = journey.error, "progress reported");
    let status = json!({ "journey": patch(&journey) });
    claims.store.report(&instance, status).await.map_err(unavailable)
}

/// The report as a merge patch that leaves nothing of the one before.
fn patch(journey: &Journey) -> Value {
    let mut patch = json!({ "error": null, "log": null, "impaired": null });
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
    Refusal::new(Reason::Unavailable, UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use dynk8s_api::progress::{Outcome, Progress};
    use jiff::Timestamp;
    use serde_json::json;

    use super::patch;
    use crate::worker::Journey;

    fn journey(outcome: Outcome, error: Option<&str>) -> Journey {
        let report = Progress {
            outcome,
            steps: Vec::new(),
            error: error.map(str::to_owned),
            log: Vec::new(),
            impaired: None,
        };
        Journey::of(report, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_report_replaces_the_one_before() {
        let patched = patch(&journey(Outcome::Running, None));
        assert_eq!([&patched["error"], &patched["impaired"]], [&json!(null), &json!(null)]);
        assert_eq!(patch(&journey(Outcome::Failed, Some("why")))["error"], json!("why"));
    }
}
