//! The way to the API server: every request that goes it is counted.

mod call;
pub(crate) mod fault;
mod find;

use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::Context as _;
use axum::http::{Request, Response, StatusCode};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tower::{Service, layer::layer_fn};

use self::call::Call;
pub use self::fault::Fault;
use crate::metrics::Metrics;

const SETUP: &str = "failed to set up the connection to the API server";

/// A client for where kubectl would go, or for the cluster that this process is in.
pub async fn client(metrics: &Metrics) -> anyhow::Result<Client> {
    let builder = ClientBuilder::try_from(config(None).await?).map_err(find::at_fault);
    Ok(counted(builder.context(SETUP)?, metrics).build())
}

/// The same for an operator, who may choose a context of his kubeconfig; nothing is counted.
pub(crate) async fn operators(context: Option<String>) -> anyhow::Result<Client> {
    let client = Client::try_from(config(context).await?).map_err(find::at_fault);
    client.context(SETUP)
}

async fn config(context: Option<String>) -> anyhow::Result<Config> {
    find::config(context).await.context("failed to find the API server")
}

/// The same client, counting.
pub(crate) fn counted<S>(builder: ClientBuilder<S>, metrics: &Metrics) -> ClientBuilder<Counted<S>> {
    let metrics = metrics.clone();
    builder.with_layer(&layer_fn(move |inner| Counted {
        inner,
        metrics: metrics.clone(),
    }))
}

/// A service whose answers are counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut pending = Pending {
            call: Call::of(request.method(), request.uri()),
            outcome: "abandoned",
            metrics: self.metrics.clone(),
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            pending.end(answer.as_ref().map_or("unreachable", |it| outcome(it.status())));
            answer
        })
    }
}

/// A request that is counted when it ends, also if nobody waits for its answer any longer.
#[derive(Debug)]
struct Pending {
    call: Call,
    outcome: &'static str,
    metrics: Metrics,
}

impl Pending {
    fn end(&mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.metrics
            .api_request(self.call.verb, self.call.resource, self.outcome);
    }
}

fn outcome(status: StatusCode) -> &'static str {
    match status {
        it if it.is_success() => "ok",
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not-found",
        StatusCode::CONFLICT => "conflict",
        StatusCode::TOO_MANY_REQUESTS => "throttled",
        it if it.is_server_error() => "failed",
        _ => "refused",
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::http::StatusCode;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;
    use kube::client::ClientBuilder;
    use test_case::test_case;
    use tokio::time::{sleep, timeout};
    use tower::service_fn;

    use super::*;

    async fn lines_after(status: StatusCode) -> String {
        let metrics = Metrics::default();
        let answer = service_fn(move |_: Request<Body>| async move {
            if status == StatusCode::CONTINUE {
                sleep(Duration::from_hours(1)).await;
            }
            let answer = Response::builder().status(status).body(Body::empty());
            Ok::<_, Infallible>(answer.unwrap())
        });
        let client = counted(ClientBuilder::new(answer, "default"), &metrics).build();
        let nodes: Api<Node> = Api::all(client);
        // What is made of the answer is not of interest.
        let _ = timeout(Duration::from_secs(1), nodes.get("i-0123abcd")).await;
        metrics.text()
    }

    #[test_case(StatusCode::OK, "ok")]
    #[test_case(StatusCode::FORBIDDEN, "forbidden")]
    #[test_case(StatusCode::NOT_FOUND, "not-found")]
    #[test_case(StatusCode::CONFLICT, "conflict")]
    #[test_case(StatusCode::TOO_MANY_REQUESTS, "throttled")]
    #[test_case(StatusCode::GONE, "refused")]
    #[test_case(StatusCode::INTERNAL_SERVER_ERROR, "failed")]
    #[test_case(StatusCode::CONTINUE, "abandoned"; "no answer")]
    #[tokio::test(start_paused = true)]
    async fn a_request_is_counted_by_how_it_ended(status: StatusCode, outcome: &str) {
        let text = lines_after(status).await;
        let line = format!("dynk8s_api_requests_total{{verb=\"get\",resource=\"nodes\",outcome=\"{outcome}\"}} 1\n");
        assert!(text.contains(&line), "{text}");
    }
}
