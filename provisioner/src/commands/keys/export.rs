//! The peers of all keys, for a gateway that is set up again.

use anyhow::anyhow;

use super::render::peer_of;
use crate::commands::cluster::Cluster;
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;

pub(in crate::commands) async fn export(cluster: &Cluster, console: &mut Console) -> Result<(), Failure> {
    let pool = cluster.pool().await?;
    let mut left_out = Vec::new();
    for entry in &pool {
        match peer_of(entry) {
            Some(peer) => console.print(&peer)?,
            None => left_out.push(format!("`{}`", entry.name)),
        }
    }
    if left_out.is_empty() {
        return Ok(());
    }
    let names = left_out.join(", ");
    Err(anyhow!("these keys have no document that can be read, and are left out: {names}").into())
}
