//! Undoes the names: the managers first, so that the host's own resolvers are in before the on-premises ones are out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tracing::warn;

use super::before::Changed;
use super::{HOST_FILE, HOSTS_FILE, KUBELET_FILE, plan, resolved};
use crate::host::files;
use crate::tunnel::INTERFACE;

/// Brings the host's names back as they were before this agent, and says what it did. `base` has the records.
pub(crate) async fn undo(base: &Path) -> anyhow::Result<Vec<String>> {
    let told = tell_managers().await;
    let changed = Changed {
        resolv_conf: Path::new(HOST_FILE),
        hosts: Path::new(HOSTS_FILE),
    };
    let put_back = changed.put_back(base);
    let removed = files::remove(Path::new(KUBELET_FILE));
    let mut done = put_back?;
    done.extend(told?);
    removed.map(|()| done)
}

async fn tell_managers() -> anyhow::Result<Option<String>> {
    let drop_ins = drop_ins(Path::new(plan::DROP_INS))?;
    drop_ins.iter().try_for_each(|it| files::remove(it))?;
    let Some(bus) = resolved::bus().await else {
        return Ok(None);
    };
    if let Some(link) = tunnel_index()?
        && resolved::runs(Some(&bus), "org.freedesktop.resolve1").await?
    {
        // It forgets the servers with the interface at the latest.
        if let Err(error) = resolved::forget(&bus, link).await {
            warn!("{error:#}");
        }
    }
    if drop_ins.is_empty() {
        return Ok(None);
    }
    resolved::reload_networks(&bus).await?;
    Ok(Some("systemd-networkd takes the VPC's resolvers again".to_owned()))
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
