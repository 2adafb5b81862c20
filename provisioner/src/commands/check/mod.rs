//! Looks at the cluster, the configuration and AWS, and changes nothing. What is seen is gathered first; what to think of it is
//! decided in `decide`.

mod aws;
pub(crate) mod decide;
mod facts;
mod gather;
mod probe;
mod render;
mod review;
mod shipped;

use self::decide::Outcome;
use super::cluster::Cluster;
use super::failure::Failure;
use super::terminal::Console;
use crate::cli::Format;
use crate::cli::check::Check;

pub(super) async fn run(arguments: Check, console: &mut Console) -> Result<(), Failure> {
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, &arguments, console).await
}

pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    arguments: &Check,
    console: &mut Console,
) -> Result<(), Failure> {
    let shipped = shipped::Shipped::new(&cluster.namespace)?;
    let facts = gather::gather(cluster, arguments, &shipped).await;
    let findings = decide::evaluate(&facts);
    match arguments.output {
        Format::Json => console.print_json(&findings)?,
        Format::Table => console.print(&render::findings(&findings))?,
    }
    if findings.iter().any(|it| it.outcome == Outcome::Failed) {
        return Err(Failure::Found);
    }
    Ok(())
}
