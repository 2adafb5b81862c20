//! How large the packets of pods may be, and those of the tunnel.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::decide::{Mtu, Pods, pods};
use crate::host::files;
use crate::tunnel::INTERFACE;

const FOLDER: &str = "/etc/cni/net.d";
const KINDS: [&str; 3] = ["conflist", "conf", "json"];

/// Both, if both can be read.
pub(super) fn mtu() -> Option<Mtu> {
    let file = first(Path::new(FOLDER))?;
    let configuration: Value = serde_json::from_str(&files::read(&file).ok()??).ok()?;
    let (pods, of) = match pods(&configuration)? {
        Pods::Stated(mtu) => (mtu, format!("`mtu` in `{}`", file.display())),
        Pods::Of(interface) => (mtu_of(&interface)?, format!("the interface `{interface}`")),
    };
    Some(Mtu {
        pods,
        of,
        tunnel: mtu_of(INTERFACE)?,
    })
}

/// The file that a container runtime takes.
fn first(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|it| it.path());
    let is_one = |it: &PathBuf| it.extension().is_some_and(|it| KINDS.iter().any(|kind| it == *kind));
    files.filter(is_one).min()
}

fn mtu_of(interface: &str) -> Option<u32> {
    let path = Path::new("/sys/class/net").join(interface).join("mtu");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn takes_the_file_that_the_runtime_takes() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(first(folder.path()), None);
        for name in ["05-notes.txt", "20-b.conf", "10-a.conflist", ".dynk8s"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(first(folder.path()), Some(folder.path().join("10-a.conflist")));
        assert_eq!(first(&folder.path().join("none")), None);
    }
}
