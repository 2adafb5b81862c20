//! Draining this machine's own Node, with the kubelet's rights: evictions as long as budgets allow them, then deletion.

use std::time::Duration;

use dynk8s_api::InstanceId;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::decide::{Leaving, leaving};
use crate::api_server::ApiServer;

/// A budget that forbids an eviction now may allow it after this.
const PAUSE: Duration = Duration::from_secs(5);

/// So long before the end nobody asks budgets any more: a pod that is deleted can at least say goodbye.
const LAST: SignedDuration = SignedDuration::from_secs(20);

/// Evicts the pods until none is left or the time is up.
pub(super) async fn drain(api_server: ApiServer<'_>, id: &InstanceId, end: Timestamp) -> anyhow::Result<()> {
    let left = Duration::try_from((end - LAST).duration_since(Timestamp::now())).unwrap_or_default();
    let deadline = Instant::now() + left;
    loop {
        let pods = leaving(&api_server.pods(id).await?);
        if pods.is_empty() {
            info!("no pod is left on the Node `{id}` that can live elsewhere");
            return Ok(());
        }
        let last = Instant::now() >= deadline;
        for pod in &pods {
            remove(api_server, pod, last).await;
        }
        if last {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

async fn remove(api_server: ApiServer<'_>, pod: &Leaving, last: bool) {
    let Leaving { namespace, name } = pod;
    let asked = if last {
        api_server.ask(Method::DELETE, &pod.path(), None).await
    } else {
        let path = format!("{}/eviction", pod.path());
        api_server.ask(Method::POST, &path, Some(&eviction(pod))).await
    };
    match asked {
        Ok(answer) if answer.status.is_success() => info!("the pod `{namespace}/{name}` leaves"),
        // It is gone, or a budget forbids it for now.
        Ok(answer) if [StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS].contains(&answer.status) => {}
        Ok(answer) => {
            if let Err(error) = answer.object() {
                warn!("failed to move the pod `{namespace}/{name}`: {error:#}");
            }
        }
        Err(error) => warn!("failed to move the pod `{namespace}/{name}`: {error:#}"),
    }
}

fn eviction(pod: &Leaving) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": pod.namespace, "name": pod.name},
    })
}
