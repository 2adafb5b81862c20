//! What kubeadm does not look at, or only after minutes: seen here, judged by `decide`, put right where that is safe.

pub(crate) mod decide;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tracing::{info, warn};

use super::{plan, runtime};
use crate::host::{command, files, service};

use decide::{Finding, KUBELET_PORT, Mend, Seen};

const NETWORKS: &str = "/etc/cni/net.d";

/// What runtimes do not read.
const ASIDE: &str = "set-aside-by-dynk8s";

const SWAPOFF: Duration = Duration::from_mins(1);

/// What the kernel forwards; the second is absent where IPv6 is off.
const FORWARDING: &[&str] = &["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"];

/// Looks at this machine.
pub(crate) async fn look(kubelet: &str, keep_swap: bool, runtime: &str) -> anyhow::Result<Seen> {
    Ok(Seen {
        swap: swap()?,
        keep_swap,
        cgroup_v2: Path::new("/sys/fs/cgroup/cgroup.controllers").exists(),
        not_forwarding: not_forwarding(),
        port_taken: is_taken(KUBELET_PORT),
        runtimes: runtime::answering().await,
        runtime: runtime.to_owned(),
        networks: networks(Path::new(NETWORKS))?,
        kubelet: kubelet.to_owned(),
    })
}

/// Puts right what can be put right, and ends the journey where a kubelet would not live.
pub(crate) async fn mend(seen: &Seen) -> anyhow::Result<()> {
    for finding in decide::findings(seen) {
        match finding {
            Finding::Mendable(mend) => {
                apply(&mend).await?;
                info!("put right before the join: {mend}");
            }
            Finding::Doubtful(text) => warn!("{text}"),
            Finding::Fatal(text) => bail!("failed to prepare the join: {text}"),
        }
    }
    Ok(())
}

/// A node that is brought back needs this too: a boot has undone it.
pub(crate) async fn mend_again(keep_swap: bool) -> anyhow::Result<()> {
    // In a container the swap is its host's.
    if !service::booted_with_systemd() {
        return Ok(());
    }
    for mend in decide::undone_by_boot(&swap()?, keep_swap, &not_forwarding()) {
        apply(&mend).await?;
        info!("put right: {mend}");
    }
    Ok(())
}

fn swap() -> anyhow::Result<Vec<String>> {
    let table = files::read(Path::new("/proc/swaps"))?;
    Ok(plan::swap(&table.unwrap_or_default()))
}

fn not_forwarding() -> Vec<&'static str> {
    FORWARDING.iter().copied().filter(|it| is_off(it)).collect()
}

async fn apply(mend: &Mend) -> anyhow::Result<()> {
    match mend {
        Mend::SwapOff(areas) => {
            let ended = command::run("swapoff", &["--all"], SWAPOFF, |_| {}).await?;
            if !ended.success {
                bail!(
                    "failed to turn swap off (`{}`): {}",
                    areas.join("`, `"),
                    ended.lines.join(" ")
                );
            }
            Ok(())
        }
        Mend::Forward(parameter) => {
            let path = file_of(parameter);
            fs::write(&path, "1").with_context(|| format!("failed to set `{parameter}`"))
        }
        Mend::SetAside(name) => {
            let path = Path::new(NETWORKS).join(name);
            let aside = Path::new(NETWORKS).join(format!("{name}.{ASIDE}"));
            fs::rename(&path, aside).with_context(|| format!("failed to set `{}` aside", path.display()))
        }
    }
}

fn file_of(parameter: &str) -> String {
    format!("/proc/sys/{}", parameter.replace('.', "/"))
}

fn is_off(parameter: &str) -> bool {
    fs::read_to_string(file_of(parameter)).is_ok_and(|it| it.trim() == "0")
}

fn is_taken(port: u16) -> bool {
    matches!(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)), Err(error) if error.kind() == io::ErrorKind::AddrInUse)
}

/// The files that a runtime would read, in its order.
fn networks(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("failed to list `{}`", folder.display())),
    };
    let is_read = |name: &String| {
        let extension = Path::new(name).extension().and_then(|it| it.to_str());
        matches!(extension, Some("conf" | "conflist" | "json"))
    };
    let mut names: Vec<String> = entries
        .filter_map(|it| it.ok()?.file_name().into_string().ok())
        .filter(is_read)
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::{file_of, is_taken, networks};

    #[test]
    fn lists_the_networks_that_a_runtime_reads() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["20-b.conflist", "10-a.conf", "10-a.conf.set-aside-by-dynk8s", "README"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(networks(folder.path()).unwrap(), ["10-a.conf", "20-b.conflist"]);
        assert!(networks(&folder.path().join("absent")).unwrap().is_empty());
    }

    #[test]
    fn knows_a_port_that_is_taken() {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_taken(port));
        drop(listener);
        assert!(!is_taken(port));
    }

    #[test]
    fn a_parameter_is_a_file() {
        assert_eq!(file_of("net.ipv4.ip_forward"), "/proc/sys/net/ipv4/ip_forward");
    }
}
