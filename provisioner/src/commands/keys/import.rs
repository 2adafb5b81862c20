//! wg-quick files become Secrets.

use std::fs::File as Handle;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use dynk8s_api::Secret;

use super::create::{NewKey, create, refused};
use super::decide::import::{File, plan};
use crate::cli::keys::Import;
use crate::commands::cluster::Cluster;
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;

/// More than any document that is accepted.
const LONGEST: u64 = 64 * 1024;

pub(super) async fn import(arguments: Import, console: &mut Console) -> Result<(), Failure> {
    let files: Vec<File> = arguments.files.iter().map(|it| read(it)).collect::<Result<_, _>>()?;
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, &files, &arguments.labels, console).await
}

pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    files: &[File],
    labels: &[(String, String)],
    console: &mut Console,
) -> Result<(), Failure> {
    let imports = plan(files, &cluster.pool().await?).map_err(|refusals| refused("nothing was imported", &refusals))?;
    let new = imports.iter().filter(|it| !it.present).map(|it| NewKey {
        name: it.name.clone(),
        text: it.text.clone(),
    });
    create(cluster, &new.collect::<Vec<_>>(), labels).await?;
    for import in imports {
        let state = if import.present { "is there already" } else { "created" };
        console.print(&format!("secret/{} {state}\n", import.name))?;
        for warning in import.warnings {
            console.note(&format!("warning: `{}`: {warning}", import.name));
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<File> {
    let mut text = String::new();
    let read = Handle::open(path).and_then(|it| it.take(LONGEST).read_to_string(&mut text));
    let text = Secret::new(text);
    read.with_context(|| format!("failed to read `{}`", path.display()))?;
    Ok(File {
        path: path.to_owned(),
        text,
    })
}
