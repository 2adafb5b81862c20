//! What the commands do.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use kube::Client;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

use crate::cli::{Cluster, Command, ConfigCommand, Namespace};
use crate::config::{Config, Live};
use crate::metrics::Metrics;
use crate::store::Store;
use crate::{key, manifests, reconcile, serve, telemetry};

/// Does what was asked, and says what went wrong.
pub async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Crd => print_crd(),
        Command::Key(namespace) => print_key(&namespace).await,
        Command::Config {
            command: ConfigCommand::Check(file),
        } => Config::read(&file.config).and_then(|_| print(&format!("`{}` is right\n", file.config.display()))),
        Command::Serve(cluster) => work(cluster, true, false).await,
        Command::Reconcile(cluster) => work(cluster, false, true).await,
        Command::Run(cluster) => work(cluster, true, true).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does one half of the work or both, until somebody asks to stop.
async fn work(cluster: Cluster, serves: bool, reconciles: bool) -> anyhow::Result<()> {
    telemetry::start();
    let (config, following) = Live::follow(&cluster.file.config)?;
    tokio::spawn(following);
    let namespace = cluster.namespace.namespace;
    let client = client().await?;
    let metrics = Metrics::default();
    let (stop, stopped) = watch::channel(false);
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        signals.wait().await;
        info!("stopping");
        stop.send_replace(true);
    });
    let serving = async {
        if serves {
            serve::run(client.clone(), &namespace, config.clone(), metrics, stopped).await
        } else {
            serve::health_alone(config.get().health_listen, metrics, stopped).await
        }
    };
    let reconciling = async {
        if reconciles {
            reconcile::run(client.clone(), &namespace, config.clone()).await
        } else {
            std::future::pending().await
        }
    };
    tokio::select! {
        done = serving => done,
        done = reconciling => done,
    }
}

/// What asks a process to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn print_crd() -> anyhow::Result<()> {
    let definition = serde_json::to_string_pretty(&manifests::crd()).context("failed to write the definition")?;
    print(&(definition + "\n"))
}

async fn print_key(namespace: &Namespace) -> anyhow::Result<()> {
    let store = Store::new(client().await?, &namespace.namespace);
    match key::load(&store).await? {
        Some(key) => print(&format!("{}\n", key.public())),
        None => bail!(
            "there is no key in namespace `{}` yet; start `serve` once",
            namespace.namespace
        ),
    }
}

async fn client() -> anyhow::Result<Client> {
    Client::try_default().await.context("failed to find the API server")
}

fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("failed to print")
}
