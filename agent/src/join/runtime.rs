//! The container runtime's socket: kubeadm is always told which one, for it refuses to choose between two.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

/// Where runtimes listen, the most usual one first.
const KNOWN: &[&str] = &[
    "unix:///run/containerd/containerd.sock",
    "unix:///var/run/crio/crio.sock",
];

const POLL: Duration = Duration::from_millis(250);

/// The configured socket, or the first known one that is there, whether or not somebody listens.
pub(super) fn likely(configured: Option<&str>) -> String {
    let there = |it: &&&str| Path::new(path(it)).exists();
    configured
        .or_else(|| KNOWN.iter().find(there).copied())
        .unwrap_or(KNOWN[0])
        .to_owned()
}

/// Waits until the configured runtime, or else a known one, takes connections, and returns its socket.
pub(super) async fn socket(configured: Option<&str>, patience: Duration) -> anyhow::Result<String> {
    let candidates = configured.map_or_else(|| KNOWN.to_vec(), |it| vec![it]);
    first(&candidates, Instant::now() + patience).await
}

/// The known runtimes that take connections.
pub(super) async fn answering() -> Vec<String> {
    let mut answering = Vec::new();
    for socket in KNOWN {
        if UnixStream::connect(path(socket)).await.is_ok() {
            answering.push((*socket).to_owned());
        }
    }
    answering
}

async fn first(candidates: &[&str], deadline: Instant) -> anyhow::Result<String> {
    loop {
        for candidate in candidates {
            if UnixStream::connect(path(candidate)).await.is_ok() {
                return Ok((*candidate).to_owned());
            }
        }
        if Instant::now() >= deadline {
            bail!(
                "no container runtime listens on `{}` (start containerd or cri-o, or name its socket by `cri_socket` in \
                 agent.toml)",
                candidates.join("`, `")
            );
        }
        sleep(POLL).await;
    }
}

fn path(socket: &str) -> &str {
    socket.trim_start_matches("unix://")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::UnixListener;
    use tokio::time::{Instant, sleep};

    use super::{KNOWN, first, likely};

    #[tokio::test]
    async fn takes_the_first_that_listens() {
        let folder = tempfile::tempdir().unwrap();
        let absent = format!("unix://{}", folder.path().join("absent").display());
        let there = folder.path().join("there");
        let _listener = UnixListener::bind(&there).unwrap();
        let there = format!("unix://{}", there.display());
        assert_eq!(first(&[&absent, &there], Instant::now()).await.unwrap(), there);
    }

    #[tokio::test]
    async fn waits_for_one_that_is_slower_than_the_network() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("late");
        let late = format!("unix://{}", socket.display());
        let candidates = [late.as_str()];
        let waiting = first(&candidates, Instant::now() + Duration::from_secs(10));
        let coming = async {
            sleep(Duration::from_millis(100)).await;
            UnixListener::bind(&socket).unwrap()
        };
        let (found, _listener) = tokio::join!(waiting, coming);
        assert_eq!(found.unwrap(), late);
    }

    #[test]
    fn resets_by_the_socket_that_is_configured() {
        assert_eq!(likely(Some("unix:///run/x.sock")), "unix:///run/x.sock");
        assert!(KNOWN.contains(&likely(None).as_str()));
    }

    #[tokio::test]
    async fn names_all_that_it_tried() {
        let error = first(&["unix:///nonexistent"], Instant::now()).await.unwrap_err();
        assert!(error.to_string().contains("`unix:///nonexistent`") && error.to_string().contains("cri_socket"));
    }
}
