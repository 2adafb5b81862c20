//! `serve`, `reconcile` and `run`: one half of the work or both, until somebody asks to stop.

use std::fmt;

use anyhow::bail;

use crate::cli::Cluster;
use crate::config::Live;
use crate::http::{health, server};
use crate::metrics::Metrics;
use crate::names::TOKEN_NAMESPACE;
use crate::readiness::Readiness;
use crate::stop::Stop;
use crate::{api_server, policies, reconcile, serve, telemetry};

/// Which half of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Serve,
    Reconcile,
    Both,
}

/// What both halves work with.
#[derive(Clone)]
pub struct Surroundings {
    pub client: kube::Client,
    pub namespace: String,
    pub config: Live,
    pub metrics: Metrics,
    pub readiness: Readiness,
    pub stop: Stop,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

/// Works until it was asked to stop and what was begun has ended, or until it was asked twice.
pub async fn work(cluster: Cluster, half: Half) -> anyhow::Result<()> {
    telemetry::start(cluster.log_format);
    let (config, following) = Live::follow(&cluster.file.config)?;
    tokio::spawn(following);
    let (stop, asked_twice) = Stop::at_signals()?;
    let asked_twice = tokio::spawn(asked_twice);
    let metrics = Metrics::default();
    let live = config.clone();
    metrics.flag(
        "config_accepted",
        "Whether the configuration that holds is what the file says now",
        move || live.is_accepted(),
    );
    let around = Surroundings {
        client: api_server::client(&metrics).await?,
        namespace: cluster.namespace.namespace,
        config,
        metrics,
        readiness: Readiness::new(stop.clone()),
        stop,
    };
    watch_over(&around).await?;
    watch_policies(&around, half);
    let serving = async {
        match half {
            Half::Serve | Half::Both => Box::pin(serve::run(&around)).await,
            Half::Reconcile => Ok(()),
        }
    };
    let reconciling = async {
        match half {
            Half::Reconcile | Half::Both => Box::pin(reconcile::run(&around)).await,
            Half::Serve => Ok(()),
        }
    };
    tokio::select! {
        done = async { tokio::try_join!(serving, reconciling) } => done.map(drop),
        _ = asked_twice => bail!("asked to stop twice; what was begun has not ended"),
    }
}

/// Each half has an account that policies speak of; who runs both under one has chosen another.
fn watch_policies(around: &Surroundings, half: Half) {
    let namespace = match half {
        Half::Serve => around.namespace.clone(),
        Half::Reconcile => TOKEN_NAMESPACE.to_owned(),
        Half::Both => return,
    };
    let client = around.client.clone();
    tokio::spawn(async move { policies::watch(client, &namespace).await });
}

/// Answers whoever asks how it goes, until the process ends.
async fn watch_over(around: &Surroundings) -> anyhow::Result<()> {
    let listener = server::listen(around.config.get().health_listen).await?;
    let router = health::router(around.readiness.clone(), around.metrics.clone());
    tokio::spawn(server::serve(listener, router, std::future::pending()));
    tokio::spawn(around.readiness.clone().follow(around.client.clone()));
    Ok(())
}
