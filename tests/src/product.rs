//! The two programs under test, built from this workspace as they are shipped.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::host::progress::narrate;

/// For `make`: all that tests build is of one time, or each commit would have the agent linked anew.
pub const BUILT_AT: &str = "SOURCE_DATE_EPOCH=1767225600";

const STAND_IN: &str = "dynk8s-lab-stand-in";
const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// Where the programs are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Product {
    /// Static, as it is put into images.
    pub agent: PathBuf,
    pub provisioner: PathBuf,
    /// The lab's own: it acts as kubeadm where there is no machine.
    pub stand_in: PathBuf,
}

/// Builds what is not up to date; needs the network for that, so it comes before the lab enters namespaces of its own.
pub async fn build() -> anyhow::Result<Product> {
    let agent = make(&["agent", BUILT_AT, &format!("CARGO_OPTIONS={MESSAGES}")]);
    let agent = narrate("building dynk8s-agent, static", artifact(agent, "dynk8s-agent")).await?;
    let provisioner = build_provisioner().await?;
    let stand_in = cargo(&["build", "--package", "dynk8s-lab", "--bin", STAND_IN]);
    let stand_in = narrate("building the stand-in of kubeadm", artifact(stand_in, STAND_IN)).await?;
    Ok(Product {
        agent,
        provisioner,
        stand_in,
    })
}

/// Builds the provisioner alone, for tests without agents.
pub async fn build_provisioner() -> anyhow::Result<PathBuf> {
    let provisioner = cargo(&["build", "--package", "dynk8s-provisioner"]);
    narrate(
        "building dynk8s-provisioner",
        artifact(provisioner, "dynk8s-provisioner"),
    )
    .await
}

/// Makes the agent's package, as it is installed on Fedora.
pub async fn package() -> anyhow::Result<PathBuf> {
    made("rpm", "the package of dynk8s-agent").await
}

/// Makes the provisioner's container image: an OCI layout, as it is pushed to a registry, and beside it the SBOM.
pub async fn image() -> anyhow::Result<PathBuf> {
    made("image", "the image of dynk8s-provisioner").await
}

/// Where that is which `make` has made: it says so last.
async fn made(target: &str, what: &str) -> anyhow::Result<PathBuf> {
    let mut make = make(&[target, BUILT_AT]);
    let said = narrate(&format!("making {what}"), said(&mut make)).await?;
    let path = said.lines().last();
    let path = path.with_context(|| format!("failed to find {what} in what `make` says"))?;
    Ok(PathBuf::from(path))
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).args(["--locked", MESSAGES]);
    quiet(command)
}

fn make(arguments: &[&str]) -> Command {
    let mut command = Command::new("make");
    command.arg("--no-print-directory").args(arguments);
    quiet(command)
}

fn quiet(mut command: Command) -> Command {
    // What `cargo test` says of this package, builds of others would take for their own: `ring` and all that needs it would be
    // built anew here, and once more by the next `cargo` outside.
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|it| it.starts_with("CARGO_PKG_") || it.starts_with("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    command
}

/// Runs a build and finds, in what Cargo says, the program of that name.
async fn artifact(mut build: Command, name: &str) -> anyhow::Result<PathBuf> {
    let said = said(&mut build)
        .await
        .with_context(|| format!("failed to build `{name}`"))?;
    program(&said, name).with_context(|| format!("failed to find the program `{name}` in what the build says"))
}

/// Runs a build, and returns what it says.
async fn said(build: &mut Command) -> anyhow::Result<String> {
    let output = build
        .output()
        .await
        .context("failed to start the build: are `make` and `cargo` installed?")?;
    if !output.status.success() {
        bail!("the build ended with {}: see above", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn program(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_the_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"dynk8s-api"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"dynk8s-agent"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"dynk8s-agent"},"executable":"/t/dynk8s-agent"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(
            program(messages, "dynk8s-agent"),
            Some(PathBuf::from("/t/dynk8s-agent"))
        );
        assert_eq!(program(messages, "dynk8s-provisioner"), None);
    }
}
