//! `serve`: puts together what faces the internet.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use dynk8s_api::PrivateKey;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::claim::Claims;
use crate::claim::cluster::Cluster;
use crate::config::Live;
use crate::http::{self, Shared, health, server};
use crate::metrics::Metrics;
use crate::proof::sts::Sts;
use crate::sns::Verifier;
use crate::sns::topic::Topic;
use crate::store::{Error, Store};
use crate::view::View;
use crate::{fetch, key};

/// How long a claim waits for what it asks for.
const CLAIM_PATIENCE: Duration = Duration::from_secs(10);

/// How long STS may take to answer.
const STS_PATIENCE: Duration = Duration::from_secs(10);

/// How long SNS may take to answer; it waits 15 s for us.
const SNS_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before the API server is asked again at the start.
const PAUSE: Duration = Duration::from_secs(2);

/// Serves until `stop` says true or is dropped.
pub async fn run(
    client: Client,
    namespace: &str,
    config: Live,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let public = listen(config.get().listen).await?;
    let private = listen(config.get().health_listen).await?;
    let (view, watching) = View::new(client.clone(), namespace);
    let watching = tokio::spawn(watching);
    let has_key = Arc::new(AtomicBool::new(false));
    let is_ready = {
        let (view, has_key) = (view.clone(), Arc::clone(&has_key));
        move || view.is_synced() && has_key.load(Ordering::Relaxed)
    };
    let health = tokio::spawn(server::serve(
        private,
        health::router(is_ready, metrics.clone()),
        stopped(stop.clone()),
    ));

    let store = Store::new(client, namespace);
    let key = tokio::select! {
        key = key(&store) => key?,
        () = stopped(stop.clone()) => return Ok(()),
    };
    has_key.store(true, Ordering::Relaxed);
    info!(address = %config.get().listen, key = %key.public(), "serving");
    let shared = Arc::new(shared(key, store, view, config, metrics)?);
    server::serve(public, http::router(shared), stopped(stop)).await;
    watching.abort();
    health.await.context("failed to end the health listener")
}

/// Answers for a process that only reconciles: it is ready as soon as it lives.
pub async fn health_alone(address: SocketAddr, metrics: Metrics, stop: watch::Receiver<bool>) -> anyhow::Result<()> {
    let listener = listen(address).await?;
    server::serve(listener, health::router(|| true, metrics), stopped(stop)).await;
    Ok(())
}

/// Our own key. The API server may come up later than we do.
async fn key(store: &Store) -> anyhow::Result<PrivateKey> {
    loop {
        match key::load_or_create(store).await {
            Err(error) if error.downcast_ref::<Error>().is_some() => {
                warn!(error = format!("{error:#}"), "waiting for the API server");
                sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

fn shared(key: PrivateKey, store: Store, view: View, config: Live, metrics: Metrics) -> anyhow::Result<Shared> {
    let topics: Result<Vec<Topic>, _> = config.get().sns.topics.iter().map(|it| it.parse()).collect();
    let sns = Verifier::new(
        topics.context("failed to read `sns.topics`")?,
        fetch::client(SNS_PATIENCE)?,
    );
    let claims = Claims {
        config,
        store,
        view,
        sts: Sts::new(fetch::client(STS_PATIENCE)?, key.public()),
        cluster: Cluster::default(),
        patience: CLAIM_PATIENCE,
    };
    Ok(Shared {
        key,
        claims,
        sns,
        metrics,
    })
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("failed to listen on {address}"))
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error says that whoever could ask us to stop is gone.
    let _ = stop.wait_for(|it| *it).await;
}
