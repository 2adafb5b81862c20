//! The programs of the host that the lab works with.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::unistd::geteuid;

use super::process::{here, run};
use super::progress::{narrate, say};

/// Each with Debian's package of it.
const PROGRAMS: [(&str, &str); 12] = [
    ("dnsmasq", "dnsmasq-base"),
    ("go", "golang-go"),
    ("ip", "iproute2"),
    ("mke2fs", "e2fsprogs"),
    ("mmdebstrap", "mmdebstrap"),
    ("mount", "mount"),
    ("nft", "nftables"),
    ("qemu-img", "qemu-utils"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("rpmbuild", "rpm"),
    ("wg", "wireguard-tools"),
    ("wireguard-go", "wireguard-go"),
];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Where Debian keeps programs for administrators, whether or not the user's PATH names it.
const ADMINISTRATION: [&str; 2] = ["/usr/sbin", "/sbin"];
const PATIENCE: Duration = Duration::from_mins(10);

/// Installs what is missing, if this is root on a Debian; else says how to.
pub async fn ensure_host_packages() -> anyhow::Result<()> {
    let missing = missing(exists);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    if !geteuid().is_root() || !exists("apt-get") {
        bail!("the lab lacks programs: `sudo apt-get install --no-install-recommends {packages}` installs them");
    }
    say(format_args!("installing Debian's packages {packages}"));
    narrate("installing packages", install(&missing))
        .await
        .with_context(|| format!("failed to install {packages}"))
}

async fn install(packages: &[&str]) -> anyhow::Result<()> {
    apt_get(&["update"]).await?;
    apt_get(&[&["install", "--no-install-recommends", "--yes"], packages].concat()).await
}

async fn apt_get(words: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
    run(command, b"", PATIENCE, &here()).await.map(drop)
}

fn missing(exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut needed = PROGRAMS.to_vec();
    needed.push((KEYRING, "debian-archive-keyring"));
    needed
        .into_iter()
        .filter(|(file, _)| !exists(file))
        .map(|(_, package)| package)
        .collect()
}

fn exists(file: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(ADMINISTRATION.map(Into::into));
    // An absolute path replaces the folder that it is joined to.
    folders
        .into_iter()
        .any(|folder| Path::new(&folder).join(file).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_by_its_package() {
        assert_eq!(
            missing(|file| file != "wg" && file != KEYRING),
            ["wireguard-tools", "debian-archive-keyring"]
        );
        assert!(missing(|_| true).is_empty());
    }

    #[test]
    fn programs_and_files_are_found() {
        assert!(exists("sh") && exists("/etc/passwd"));
        assert!(!exists("no-such-program") && !exists("/no/such/file"));
    }
}
