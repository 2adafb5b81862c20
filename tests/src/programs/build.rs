//! Building the programs from their published Go modules.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

use super::GIVEN;
use super::module::{ETCD, KUBERNETES, Module};
use crate::host::process::last_lines;
use crate::host::progress::{narrate, say};

/// The first Go that fetches the release that a module asks for.
const OLDEST_GO: u32 = 21;

/// Builds everything below `workshop`, and returns the folder with the programs.
pub(super) async fn all(workshop: &Path) -> anyhow::Result<PathBuf> {
    let programs = workshop.join("programs");
    std::fs::create_dir_all(&programs).with_context(|| format!("failed to create `{}`", programs.display()))?;
    say(format_args!(
        "building {} {} and {} {} from their Go modules, once: about 15 minutes on two cores, and 500 MB to fetch; \
         {GIVEN} can name a folder with official programs instead",
        KUBERNETES.name,
        KUBERNETES.version()?,
        ETCD.name,
        ETCD.version()?,
    ));
    build(&ETCD, workshop, &programs.join("etcd")).await?;
    build(&KUBERNETES, workshop, &programs).await?;
    Ok(programs)
}

async fn build(module: &Module, workshop: &Path, output: &Path) -> anyhow::Result<()> {
    let version = module.version()?;
    let what = format!("{} {version}", module.name);
    let source = workshop.join(module.name);
    module
        .write(&source)
        .with_context(|| format!("failed to write the module below `{}`", source.display()))?;
    check_go(&source)
        .await
        .with_context(|| format!("failed to build {what}"))?;

    let log = source.join("log");
    let mut command = go_build(&source);
    command.args(["-tags=notest,grpcnotrace", "-ldflags"]);
    command.arg(linker_flags(version)).arg("-o").arg(output).arg("tool");
    compile(&what, command, &log).await
}

/// Builds with Go. What it says is of interest only if it fails.
pub(super) async fn compile(what: &str, mut command: Command, log: &Path) -> anyhow::Result<()> {
    let messages = File::create(log).with_context(|| format!("failed to create `{}`", log.display()))?;
    command.stdout(messages.try_clone()?).stderr(messages);
    let status = narrate(&format!("building {what}"), command.status())
        .await
        .context("failed to start `go build`")?;
    if !status.success() {
        let said = std::fs::read_to_string(log).unwrap_or_default();
        bail!(
            "failed to build {what} ({status}), `go build` ends with:\n{}",
            last_lines(&said, 20)
        );
    }
    Ok(())
}

/// Go reads the go.mod of the folder that it runs in, so this also fetches the release of Go that is asked for there.
pub(super) async fn check_go(source: &Path) -> anyhow::Result<()> {
    let answer = match go(source).args(["env", "GOVERSION"]).output().await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("there is no `go` in PATH: install Go 1.{OLDEST_GO} or later, or set {GIVEN}")
        }
        other => other.context("failed to run `go env`")?,
    };
    let version = String::from_utf8_lossy(&answer.stdout);
    if !answer.status.success() {
        bail!("`go env` failed: {}", String::from_utf8_lossy(&answer.stderr).trim());
    }
    if minor(&version).is_none_or(|minor| minor < OLDEST_GO) {
        bail!(
            "`{}` is too old: install Go 1.{OLDEST_GO} or later, or set {GIVEN}",
            version.trim()
        );
    }
    Ok(())
}

/// 26 for `go1.26.8`.
fn minor(version: &str) -> Option<u32> {
    version
        .trim()
        .strip_prefix("go1.")?
        .split(|digit: char| !digit.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

pub(super) fn go(source: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(source).stdin(Stdio::null()).kill_on_drop(true);
    // Static programs, which also run in the machine; and no setting of the host's that changes what is built.
    command
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOFLAGS");
    command
}

/// `go build`, which changes nothing about the source and writes nothing of this machine into the program.
pub(super) fn go_build(source: &Path) -> Command {
    let mut command = go(source);
    command.args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"]);
    command
}

/// Without these, Kubernetes takes itself for v0.0.0-master and refuses its own kubelet.
fn linker_flags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let values = [
        ("gitVersion", version),
        ("gitMajor", numbers.next().unwrap_or_default()),
        ("gitMinor", numbers.next().unwrap_or_default()),
    ];
    let packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
    let settings = packages
        .iter()
        .flat_map(|package| values.map(|(key, value)| format!("-X {package}.{key}={value}")));
    ["-s".to_owned(), "-w".to_owned()]
        .into_iter()
        .chain(settings)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_version_packages_are_set() {
        let flags = linker_flags("v1.37.2");
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            for setting in ["gitVersion=v1.37.2", "gitMajor=1", "gitMinor=37"] {
                assert!(flags.contains(&format!("-X {package}.{setting}")), "{flags}");
            }
        }
    }

    #[test]
    fn the_minor_of_go_is_read() {
        assert_eq!(minor("go1.26.8\n"), Some(26));
        assert_eq!(minor("go1.21rc2"), Some(21));
        assert_eq!(minor("devel +abc"), None);
    }
}
