//! WireGuard in user space, for a host whose kernel has none: `wireguard-go`, started before whoever configures it.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::host::process::{Process, Spawn};

const PATIENCE: Duration = Duration::from_secs(10);

/// Carries an interface of this name until the process is dropped. `connects` tries to open the socket at a path, where
/// the process runs.
pub fn carry(
    device: &str,
    log: &Path,
    spawn: &Spawn,
    connects: impl Fn(&Path) -> std::io::Result<()>,
) -> anyhow::Result<Process> {
    let mut command = Command::new("wireguard-go");
    command.args(["--foreground", device]);
    let mut process = Process::start(command, log, spawn)
        .context("the kernel has no WireGuard and there is no `wireguard-go`: install Debian's package of that name")?;
    let socket = Path::new("/var/run/wireguard").join(device).with_extension("sock");
    let deadline = Instant::now() + PATIENCE;
    // That it is there is not enough: one that was killed leaves it behind.
    while connects(&socket).is_err() {
        process.check()?;
        if Instant::now() > deadline {
            bail!(
                "failed to reach `{}` within {PATIENCE:?}: see `{}`",
                socket.display(),
                log.display()
            );
        }
        sleep(Duration::from_millis(10));
    }
    Ok(process)
}

/// Opens a socket where the lab itself runs.
pub fn connect(socket: &Path) -> std::io::Result<()> {
    UnixStream::connect(socket).map(drop)
}
