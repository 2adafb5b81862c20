//! `kubeadm reset`: takes away what a join wrote, and all that the kubelet keeps.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};

use super::{kubelet, print};

pub(super) fn run(flags: &[&str]) -> anyhow::Result<ExitCode> {
    let forced = flags.iter().any(|it| ["-f", "--force"].contains(it));
    ensure!(forced, "nobody is there to answer: reset needs --force");
    print("[reset] Stopping the kubelet service");
    kubelet::stop()?;
    for folder in ["/var/lib/kubelet", "/etc/kubernetes/pki", "/etc/kubernetes/manifests"] {
        empty(Path::new(folder), |_| true).with_context(|| format!("failed to empty `{folder}`"))?;
    }
    let is_kubeconfig = |path: &Path| path.extension().is_some_and(|it| it == "conf");
    empty(Path::new("/etc/kubernetes"), is_kubeconfig).context("failed to empty `/etc/kubernetes`")?;
    Ok(ExitCode::SUCCESS)
}

fn empty(folder: &Path, doomed: impl Fn(&Path) -> bool) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !doomed(&path) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
