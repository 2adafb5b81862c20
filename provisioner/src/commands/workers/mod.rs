//! The verbs of instances.

mod decide;
pub(super) mod release;
mod render;

use anyhow::anyhow;
use jiff::Timestamp;

use super::cluster::Cluster;
use super::failure::Failure;
use super::terminal::Console;
use crate::cli::Format;
use crate::cli::workers::Command;

const UNKNOWN: &str =
    "the cluster does not know Workers yet; apply the manifests, or what `dynk8s-provisioner crd` prints";

pub(super) async fn run(command: Command, console: &mut Console) -> Result<(), Failure> {
    match command {
        Command::List(arguments) => list(&Cluster::find(&arguments.access).await?, arguments.output, console).await,
        Command::Release(arguments) => release::release(arguments, console).await,
    }
}

pub(super) async fn list(cluster: &Cluster, format: Format, console: &mut Console) -> Result<(), Failure> {
    let workers = cluster.known_workers().await?;
    let mut workers = workers.ok_or_else(|| anyhow!(UNKNOWN))?;
    workers.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    let summaries: Vec<_> = workers.iter().map(decide::summary).collect();
    match format {
        Format::Json => console.print_json(&summaries)?,
        Format::Table => console.print(&render::list(&summaries, Timestamp::now()))?,
    }
    Ok(())
}
