//! The fourth step: only the on-premises resolvers remain, for the host and for what the kubelet hands to pods. The way is
//! proven before the switch and read back after it, and at no moment is there no server at all.

mod apply;
mod before;
mod foresee;
mod network_manager;
mod plan;
mod prove;
mod render;
mod resolved;
mod undo;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use dynk8s_api::InstanceId;
use dynk8s_api::claim::Cluster;
use tokio::time::Instant;
use zbus::Connection;

use crate::host::{files, labels};
use crate::state;
use crate::timeline::Recorder;
use crate::tunnel::{Tunnel, UplinkLink};
use crate::uplink::nameservers;

pub(crate) use before::servers_before;
pub(crate) use foresee::foresee;
pub(crate) use prove::{is_api_server, proven};
pub(crate) use render::HEADER;
pub(crate) use undo::undo;

use apply::Walk;
use before::Changed;
use plan::{Etc, Found};

/// The kubelet's resolver file: our own, so that no manager of the host's can touch it.
pub(crate) const KUBELET_FILE: &str = "/etc/dynk8s/resolv.conf";

/// The folders of all files that tell resolvers.
pub(crate) const FOLDERS: &[&str] = &["/etc", "/etc/dynk8s", "/run/systemd/resolve"];

const HOST_FILE: &str = "/etc/resolv.conf";
const RESOLVED_FILE: &str = "/run/systemd/resolve/resolv.conf";
const HOSTS_FILE: &str = "/etc/hosts";

/// Until the managers have done what they were told.
const SWITCH: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(100);

/// Names that are right: a kubelet may start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names;

/// Proves the on-premises resolvers, makes them the only ones, and reads back that they are.
pub(crate) async fn switch(
    tunnel: &Tunnel,
    cluster: &Cluster,
    id: &InstanceId,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<Names> {
    prove::prove(render::first_servers(&tunnel.dns), cluster, deadline, recorder).await?;
    set(tunnel, id).await
}

/// Whether all files name the on-premises resolvers, and no others.
pub(crate) fn check(dns: &[IpAddr]) -> anyhow::Result<()> {
    let servers = render::first_servers(dns);
    [KUBELET_FILE, HOST_FILE, RESOLVED_FILE]
        .into_iter()
        .map(Path::new)
        // Where systemd-resolved does not run, it has no file.
        .filter(|it| *it != Path::new(RESOLVED_FILE) || it.exists())
        .try_for_each(|it| lists_only(it, servers))
}

/// Makes the on-premises resolvers the only ones, and reads back that they are.
pub(crate) async fn set(tunnel: &Tunnel, id: &InstanceId) -> anyhow::Result<Names> {
    let servers = render::first_servers(&tunnel.dns);
    let text = render::resolv_conf(servers, &tunnel.search);
    let changed = Changed {
        resolv_conf: Path::new(HOST_FILE),
        hosts: Path::new(HOSTS_FILE),
    };
    changed.note(Path::new(state::BASE), id)?;
    files::public_folder(Path::new("/etc/dynk8s"))?;
    files::write_if_changed(Path::new(KUBELET_FILE), text.as_bytes(), files::PUBLIC)?;
    let bus = resolved::bus().await;
    let found = find(bus.as_ref(), &tunnel.uplink).await?;
    let failed = "failed to set the host's names right";
    let way = plan::way(&found).context(failed)?;
    let walk = Walk {
        bus: bus.as_ref(),
        tunnel,
        servers,
        text: &text,
    };
    walk.go(&way).await.context(failed)?;
    know_own_name(id)?;
    labels::restore(&[HOST_FILE, HOSTS_FILE, KUBELET_FILE]).await;
    Ok(Names)
}

async fn find(bus: Option<&Connection>, uplink: &UplinkLink) -> anyhow::Result<Found> {
    let etc = match fs::symlink_metadata(HOST_FILE) {
        Err(_) => Etc::Absent,
        // A link whose target is missing has no canonical path.
        Ok(metadata) if metadata.is_symlink() => Etc::Link(
            fs::canonicalize(HOST_FILE)
                .or_else(|_| fs::read_link(HOST_FILE))
                .unwrap_or_default(),
        ),
        Ok(_) => Etc::File,
    };
    Ok(Found {
        etc,
        resolved: resolved::runs(bus, resolved::RESOLVED).await? || Path::new("/run/systemd/resolve").exists(),
        network_manager: network_manager::manages(bus, &uplink.name).await?,
        network_file: network_file(bus, uplink.index).await?,
    })
}

/// What systemd-networkd makes of the uplink, if it runs: its notes outlive it.
async fn network_file(bus: Option<&Connection>, uplink: u32) -> anyhow::Result<Option<PathBuf>> {
    if !resolved::runs(bus, resolved::NETWORKD).await? {
        return Ok(None);
    }
    let notes = PathBuf::from(format!("/run/systemd/netif/links/{uplink}"));
    Ok(files::read(&notes)?.as_deref().and_then(plan::network_file))
}

/// Whether a resolver file names the on-premises servers and no other.
fn lists_only(file: &Path, servers: &[IpAddr]) -> anyhow::Result<()> {
    let named = nameservers(&files::read(file)?.unwrap_or_default());
    if let Some(foreign) = named.iter().find(|it| !servers.contains(it)) {
        bail!(
            "`{}` still names the resolver `{foreign}`; look for what writes it",
            file.display()
        );
    }
    if named.is_empty() {
        bail!("`{}` names no on-premises resolver", file.display());
    }
    Ok(())
}

/// kubeadm looks the node's name up, and would wait for three time-outs.
fn know_own_name(id: &InstanceId) -> anyhow::Result<()> {
    let path = Path::new(HOSTS_FILE);
    match render::hosts(&files::read(path)?.unwrap_or_default(), id.as_str()) {
        Some(text) => files::write(path, text.as_bytes(), files::PUBLIC),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::lists_only;

    #[test_case("nameserver 192.168.10.1\n", true; "as it should be")]
    #[test_case("nameserver 192.168.10.1\nnameserver 172.31.0.2\n", false; "the resolver of AWS behind it")]
    #[test_case("nameserver 172.31.0.2\n", false; "only the resolver of AWS")]
    #[test_case("search onprem.example\n", false; "no server")]
    fn reads_back_what_is_there(text: &str, expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        std::fs::write(&file, text).unwrap();
        assert_eq!(lists_only(&file, &["192.168.10.1".parse().unwrap()]).is_ok(), expected);
    }
}
