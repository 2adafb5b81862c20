//! Stand-ins for what a machine has and a room has not: `kubeadm` with its kubelet, and `systemctl`.
//!
//! They are one program that acts by the name it is called by. The API server they talk to is real, and so are the certificate
//! request, the Node and every refusal; only containers never run. The kubelet shows its certificate on its port, and does nothing else.

mod api;
mod certificate;
mod configuration;
mod discovery;
mod join;
mod kubelet;
mod node;
mod patches;
mod reset;
mod systemctl;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::host::room::Room;

/// What `kubeadm version` prints.
const VERSION: &str = "/etc/dynk8s-lab/kubeadm-version";
/// A [`Failure`] as JSON.
const FAILURE: &str = "/etc/dynk8s-lab/fail-next-join";

/// How the next join fails, once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    pub complaint: String,
    pub exit_code: u8,
}

/// Puts the stand-ins into a room, in the place of whatever the host has of these names.
pub fn install(room: &Room, program: &Path, version: &str) -> anyhow::Result<()> {
    for name in ["kubeadm", "systemctl"] {
        room.install(program, &format!("/usr/bin/{name}"))?;
    }
    set_version(room, version)
}

/// Lets the stand-in of a room be of another release.
pub fn set_version(room: &Room, version: &str) -> anyhow::Result<()> {
    room.write(VERSION, format!("{version}\n"), 0o644)
}

/// Lets the next join in a room fail.
pub fn fail_next_join(room: &Room, failure: &Failure) -> anyhow::Result<()> {
    room.write(FAILURE, serde_json::to_vec(failure)?, 0o644)
}

/// Acts as the program of this name.
pub async fn run(program: &str, arguments: &[&str]) -> anyhow::Result<ExitCode> {
    match (program, arguments) {
        (kubelet::NAME, _) => kubelet::run(arguments).await,
        ("systemctl", _) => systemctl::run(arguments),
        ("kubeadm", ["version", "-o", "short"] | ["version", "-o=short" | "--output=short"]) => {
            print(&std::fs::read_to_string(VERSION).with_context(|| format!("failed to read `{VERSION}`"))?);
            Ok(ExitCode::SUCCESS)
        }
        ("kubeadm", ["join", flags @ ..]) => join::run(config_of(flags)?).await,
        ("kubeadm", ["reset", flags @ ..]) => reset::run(flags),
        _ => bail!("unknown command {arguments:?} for {program:?}"),
    }
}

fn config_of<'a>(flags: &[&'a str]) -> anyhow::Result<&'a Path> {
    let flags: Vec<&'a str> = flags.iter().filter(|it| !is_verbosity(it)).copied().collect();
    match *flags.as_slice() {
        ["--config", file] => Ok(Path::new(file)),
        [flag] if flag.starts_with("--config=") => Ok(Path::new(flag.trim_start_matches("--config="))),
        _ => bail!("can only join with --config, got {flags:?}"),
    }
}

fn is_verbosity(flag: &str) -> bool {
    flag.starts_with("-v=") || flag.starts_with("--v=")
}

#[expect(clippy::print_stdout, reason = "a program's output")]
fn print(text: &str) {
    println!("{}", text.trim_end());
}
