//! Undoes the names: the host's own resolvers are in before the on-premises ones are out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tracing::warn;

use super::before::Changed;
use super::{HOST_FILE, HOSTS_FILE, KUBELET_FILE, network_manager, plan, resolved};
use crate::host::{files, labels};
use crate::tunnel::INTERFACE;

/// Brings the host's names back as they were before this agent, and says what it did. `base` has the records.
pub(crate) async fn undo(base: &Path) -> anyhow::Result<Vec<String>> {
    let changed = Changed {
        resolv_conf: Path::new(HOST_FILE),
        hosts: Path::new(HOSTS_FILE),
    };
    // Before NetworkManager hears that the file is its own again.
    let put_back = changed.put_back(base);
    let told = tell_managers().await;
    let removed = files::remove(Path::new(KUBELET_FILE));
    labels::restore(&[HOST_FILE, HOSTS_FILE]).await;
    let mut done = put_back?;
    done.extend(told?);
    removed.map(|()| done)
}

async fn tell_managers() -> anyhow::Result<Vec<String>> {
    let networkd = drop_ins(Path::new(plan::DROP_INS))?;
    let network_manager = Path::new(plan::NETWORK_MANAGER_DROP_IN);
    let told = network_manager.exists();
    networkd.iter().try_for_each(|it| files::remove(it))?;
    files::remove(network_manager)?;
    let mut done = Vec::new();
    let Some(bus) = resolved::bus().await else {
        return Ok(done);
    };
    if !networkd.is_empty() {
        resolved::reload_networks(&bus).await?;
        done.push("systemd-networkd takes the VPC's resolvers again".to_owned());
    }
    if told && resolved::runs(Some(&bus), network_manager::NETWORK_MANAGER).await? {
        network_manager::reload(&bus).await?;
        done.push("NetworkManager takes the VPC's resolvers again".to_owned());
    }
    if let Some(link) = tunnel_index()?
        && resolved::runs(Some(&bus), resolved::RESOLVED).await?
    {
        // It forgets the servers with the interface at the latest.
        if let Err(error) = resolved::forget(&bus, link).await {
            warn!("{error:#}");
        }
    }
    Ok(done)
}

fn tunnel_index() -> anyhow::Result<Option<u32>> {
    let path = PathBuf::from(format!("/sys/class/net/{INTERFACE}/ifindex"));
    let text = files::read(&path)?;
    text.map(|it| it.trim().parse())
        .transpose()
        .with_context(|| format!("failed to read `{}`", path.display()))
}

/// Our drop-ins for any network file.
fn drop_ins(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("failed to list `{}`", folder.display()))?,
    };
    let files = entries.flatten().map(|it| it.path().join(plan::DROP_IN));
    Ok(files.filter(|it| it.exists()).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::drop_ins;
    use crate::names::plan::drop_in;

    #[test]
    fn finds_the_drop_in_that_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let made = drop_in(Path::new("/etc/systemd/network/50-vpc.network"));
        let made = folder.path().join(made.strip_prefix("/run/systemd/network").unwrap());
        std::fs::create_dir(made.parent().unwrap()).unwrap();
        std::fs::write(made.with_file_name("10-other.conf"), "").unwrap();
        assert!(drop_ins(folder.path()).unwrap().is_empty());
        std::fs::write(&made, "").unwrap();
        assert_eq!(drop_ins(folder.path()).unwrap(), [made]);
        assert!(drop_ins(&folder.path().join("absent")).unwrap().is_empty());
    }
}
