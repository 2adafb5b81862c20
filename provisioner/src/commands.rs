//! What the commands do.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use kube::Client;

use crate::cli::{Command, ConfigCommand, Namespace};
use crate::config::Config;
use crate::store::Store;
use crate::work::{Half, work};
use crate::{key, manifests};

/// Does what was asked, and says what went wrong.
pub async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Crd => print_crd(),
        Command::Key(namespace) => print_key(&namespace).await,
        Command::Config {
            command: ConfigCommand::Check(file),
        } => Config::read(&file.config).and_then(|_| print(&format!("`{}` is right\n", file.config.display()))),
        Command::Serve(cluster) => work(cluster, Half::Serve).await,
        Command::Reconcile(cluster) => work(cluster, Half::Reconcile).await,
        Command::Run(cluster) => work(cluster, Half::Both).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
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
