//! The verbs of the pool. They write key Secrets with the operator's own rights, while `reconcile` works on the same ones: what
//! is changed or deleted is guarded by its resource version.

mod create;
pub(crate) mod decide;
mod draw;
pub(super) mod export;
pub(super) mod generate;
pub(super) mod import;
mod render;
pub(super) mod retire;

use jiff::Timestamp;

use super::cluster::Cluster;
use super::failure::Failure;
use super::terminal::Console;
use crate::cli::Format;
use crate::cli::keys::Command;

pub(super) async fn run(command: Command, console: &mut Console) -> Result<(), Failure> {
    match command {
        Command::Import(arguments) => import::import(arguments, console).await,
        Command::Generate(arguments) => generate::generate(arguments, console).await,
        Command::List(arguments) => list(&Cluster::find(&arguments.access).await?, arguments.output, console).await,
        Command::Retire(arguments) => retire::retire(arguments, console).await,
        Command::Export(access) => export::export(&Cluster::find(&access).await?, console).await,
    }
}

pub(super) async fn list(cluster: &Cluster, format: Format, console: &mut Console) -> Result<(), Failure> {
    let pool = cluster.pool().await?;
    match format {
        Format::Json => console.print_json(&pool)?,
        Format::Table => {
            console.print(&render::list(&pool, Timestamp::now()))?;
            let problems = render::problems(&pool);
            if !problems.is_empty() {
                console.note(&problems);
            }
        }
    }
    Ok(())
}
