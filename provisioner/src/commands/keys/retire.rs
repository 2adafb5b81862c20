//! Takes keys out of the pool for good.

use anyhow::{Context as _, anyhow, bail};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use super::decide::inventory::Entry;
use super::decide::retire::{Retirement, retire as decide};
use crate::api_server::Fault;
use crate::cli::keys::Retire;
use crate::commands::cluster::{Cluster, ask};
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;
use crate::names::RETIRED_LABEL;

pub(super) async fn retire(arguments: Retire, console: &mut Console) -> Result<(), Failure> {
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, &arguments.names, arguments.force, console).await
}

/// All names are looked up before anything is done.
pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    names: &[String],
    force: bool,
    console: &mut Console,
) -> Result<(), Failure> {
    let pool = cluster.pool().await?;
    let entries: Vec<&Entry> = names
        .iter()
        .map(|name| pool.iter().find(|it| it.name == *name).ok_or(name))
        .collect::<Result<_, _>>()
        .map_err(|name| {
            anyhow!(
                "there is no key `{name}` in namespace `{}`; look at `keys list`",
                cluster.namespace
            )
        })?;
    for entry in entries {
        let done = one(cluster, entry, decide(entry, force))
            .await
            .with_context(|| format!("failed to retire `{}`", entry.name))?;
        console.print(&format!("secret/{} {done}\n", entry.name))?;
    }
    Ok(())
}

async fn one(cluster: &Cluster, entry: &Entry, retirement: Retirement) -> anyhow::Result<String> {
    let held = entry.instance.as_deref().unwrap_or("its instance");
    let call = async {
        match retirement {
            Retirement::Delete => {
                let as_seen = DeleteParams::default().preconditions(Preconditions {
                    resource_version: entry.resource_version.clone(),
                    uid: entry.uid.clone(),
                });
                let gone = cluster.secrets.delete(&entry.name, &as_seen).await;
                gone.map(|_| "deleted".to_owned())
            }
            Retirement::Mark => {
                let metadata = json!({ "resourceVersion": entry.resource_version, "uid": entry.uid,
                    "labels": { RETIRED_LABEL: "true" } });
                let mark = Patch::Merge(json!({ "metadata": metadata }));
                let marked = cluster
                    .secrets
                    .patch_metadata(&entry.name, &PatchParams::default(), &mark)
                    .await;
                marked.map(|_| format!("marked: it is removed when `{held}` is gone"))
            }
            Retirement::MarkedAlready => Ok(format!("is marked already: it is removed when `{held}` is gone")),
        }
    };
    let changed = |Fault(error): &Fault| matches!(error, kube::Error::Api(status) if status.is_conflict());
    match ask("change the Secret", call).await {
        Err(error) if error.downcast_ref().is_some_and(changed) => {
            bail!("it was changed at the same moment, perhaps handed out; look at `keys list` and try again")
        }
        done => done,
    }
}
