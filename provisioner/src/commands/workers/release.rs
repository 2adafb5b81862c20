//! The operator's word that an instance is gone.

use anyhow::anyhow;
use dynk8s_api::InstanceId;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::decide::{Release, release as decide};
use crate::cli::workers::Release as Arguments;
use crate::commands::cluster::{Cluster, ask, is_unknown};
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;
use crate::worker::{Wish, Worker};

pub(super) async fn release(arguments: Arguments, console: &mut Console) -> Result<(), Failure> {
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, &arguments.names, arguments.yes, arguments.force, console).await
}

/// All are looked at before the first is released.
pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    names: &[InstanceId],
    yes: bool,
    force: bool,
    console: &mut Console,
) -> Result<(), Failure> {
    let mut released = Vec::new();
    for name in names {
        let worker = ask(format!("get Worker `{name}`"), get(cluster, name)).await?;
        let worker = worker.ok_or_else(|| anyhow!("there is no Worker `{name}`; look at `workers list`"))?;
        match decide(&worker, force) {
            Release::Already => console.print(&format!("worker/{name} is wished gone already\n"))?,
            Release::Refused(why) => return Err(anyhow!("nothing was released: `{name}`: {why}").into()),
            Release::Now { what } => {
                console.note(&format!("`{name}`: {what}"));
                released.push((name, worker));
            }
        }
    }
    if released.is_empty() {
        return Ok(());
    }
    if !yes && !console.agrees("Take all that back for good?")? {
        return Err(anyhow!("nothing was released: say `--yes`, or `y` at a terminal").into());
    }
    for (name, worker) in released {
        wish_gone(cluster, name, &worker).await?;
        console.print(&format!("worker/{name} is released\n"))?;
    }
    Ok(())
}

async fn get(cluster: &Cluster, name: &InstanceId) -> kube::Result<Option<Worker>> {
    match cluster.workers.get(name.as_str()).await {
        Ok(worker) => Ok(Some(worker)),
        Err(error) if is_unknown(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Only as it was seen: a Node may have become Ready meanwhile.
async fn wish_gone(cluster: &Cluster, name: &InstanceId, worker: &Worker) -> anyhow::Result<()> {
    let metadata = json!({ "resourceVersion": worker.metadata.resource_version, "uid": worker.metadata.uid });
    let patch = Patch::Merge(json!({ "metadata": metadata, "spec": { "wished": Wish::Gone, "forced": true } }));
    let parameters = PatchParams::default();
    let call = cluster.workers.patch(name.as_str(), &parameters, &patch);
    ask(format!("release Worker `{name}`"), call).await.map(drop)
}
