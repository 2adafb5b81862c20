//! What the commands do.

mod check;
mod cluster;
mod failure;
pub(crate) mod keys;
mod table;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod workers;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};

use crate::api_server::operators;
use crate::cli::{Cluster, Command, ConfigCommand, File, Namespace};
use crate::config::Config;
use crate::store::Store;
use crate::work::{Half, work};
use crate::{key, manifests};

use failure::Failure;
use terminal::Console;

/// Does what was asked, and says what went wrong.
pub async fn run(command: Command) -> ExitCode {
    let console = &mut Console::standard();
    let done = match command {
        Command::Crd => print_crd(console).map_err(Failure::from),
        Command::Key(namespace) => print_key(&namespace, console).await,
        Command::Keys { command } => keys::run(command, console).await,
        Command::Workers { command } => workers::run(command, console).await,
        Command::Check(arguments) => check::run(arguments, console).await,
        Command::Config {
            command: ConfigCommand::Check(file),
        } => check_config(&file, console),
        Command::Serve(cluster) => work_with(cluster, Half::Serve).await,
        Command::Reconcile(cluster) => work_with(cluster, Half::Reconcile).await,
        Command::Run(cluster) => work_with(cluster, Half::Both).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(console),
    }
}

fn check_config(file: &File, console: &mut Console) -> Result<(), Failure> {
    Config::read(&file.config).map_err(Failure::Usage)?;
    Ok(console.print(&format!("`{}` is right\n", file.config.display()))?)
}

/// A configuration that is wrong at the start is told apart from work that failed.
async fn work_with(cluster: Cluster, half: Half) -> Result<(), Failure> {
    Config::read(&cluster.file.config).map_err(Failure::Usage)?;
    Ok(work(cluster, half).await?)
}

fn print_crd(console: &mut Console) -> anyhow::Result<()> {
    let definition = serde_json::to_string_pretty(&manifests::crd()).context("failed to write the definition")?;
    console.print(&(definition + "\n"))
}

async fn print_key(namespace: &Namespace, console: &mut Console) -> Result<(), Failure> {
    let namespace = &namespace.namespace;
    let store = Store::new(operators(None).await.map_err(Failure::Usage)?, namespace);
    match key::load(&store).await? {
        Some(key) => Ok(console.print(&format!("{}\n", key.public()))?),
        None => Err(anyhow!("there is no key in namespace `{namespace}` yet; start `serve` once").into()),
    }
}
