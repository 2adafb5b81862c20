//! `serve`: puts together what faces the internet.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use dynk8s_api::PrivateKey;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::claim::Claims;
use crate::claim::cluster::Cluster;
use crate::config::Live;
use crate::http::{self, Pace, Shared, server};
use crate::metrics::Metrics;
use crate::proof::sts::Sts;
use crate::sns::Verifier;
use crate::store::{Error, Store};
use crate::view::View;
use crate::work::Surroundings;
use crate::{fetch, key};

/// How long a claim waits for what it asks for.
const CLAIM_PATIENCE: Duration = Duration::from_secs(10);

/// How long STS may take to answer.
const STS_PATIENCE: Duration = Duration::from_secs(10);

/// How long SNS may take to answer; it waits 15 s for us.
const SNS_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before the API server is asked again at the start.
const PAUSE: Duration = Duration::from_secs(2);

/// What serving needs.
const WORKERS: &str = "the list of Workers";
const OWN_KEY: &str = "the provisioner's own key";

/// Serves until it is asked to stop and every request that was begun is answered.
pub async fn run(around: &Surroundings) -> anyhow::Result<()> {
    around.readiness.needs(WORKERS);
    around.readiness.needs(OWN_KEY);
    let listener = server::listen(around.config.get().listen).await?;
    let (view, watching) = View::new(around.client.clone(), &around.namespace);
    let work = serve(around, listener, view);
    tokio::select! {
        done = work => done,
        () = watching => bail!("the watch of Workers has ended"),
    }
}

async fn serve(around: &Surroundings, listener: TcpListener, view: View) -> anyhow::Result<()> {
    let Surroundings {
        client,
        namespace,
        config,
        metrics,
        readiness,
        stop,
    } = around;
    let store = Store::new(client.clone(), namespace);
    let key = tokio::select! {
        key = key(&store) => key?,
        () = stop.clone().asked() => return Ok(()),
    };
    readiness.has(OWN_KEY);
    info!(address = %config.get().listen, key = %key.public(), "serving");
    let shared = shared(key, store, view.clone(), config.clone(), metrics.clone())?;
    let syncing = async {
        view.synced().await;
        readiness.has(WORKERS);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = server::serve(listener, http::router(Arc::new(shared)), stop.clone().asked()) => Ok(()),
        () = syncing => Ok(()),
    }
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
    let sns = Verifier::new(fetch::client(SNS_PATIENCE)?);
    let claims = Claims {
        config,
        store,
        view,
        sts: Sts::new(fetch::client(STS_PATIENCE)?, key.public(), metrics.clone()),
        cluster: Cluster::default(),
        patience: CLAIM_PATIENCE,
    };
    Ok(Shared {
        key,
        claims,
        sns,
        metrics,
        pace: Pace::default(),
    })
}
