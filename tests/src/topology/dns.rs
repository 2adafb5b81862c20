//! `dnsmasq` as the resolver of a site, and as its DHCP server where it has one.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::host::containment::SCRATCH;
use crate::host::namespace::Namespace;
use crate::host::process::Process;

const PATIENCE: Duration = Duration::from_secs(5);

/// A running server; what it does not know, does not exist.
#[derive(Debug)]
pub struct Dnsmasq {
    log: PathBuf,
    names: PathBuf,
    reservations: PathBuf,
    process: Process,
}

impl Dnsmasq {
    /// Serves `names` on port 53 of the first of the addresses and of the others; `extra` are further options.
    pub(super) fn start(
        namespace: &Namespace,
        addresses: &[Ipv4Addr],
        names: &[(&str, Ipv4Addr)],
        extra: &[String],
    ) -> anyhow::Result<Self> {
        let home = Path::new(SCRATCH).join("dnsmasq").join(namespace.name());
        let reservations = home.join("reservations");
        fs::create_dir_all(&reservations).with_context(|| format!("failed to create `{}`", reservations.display()))?;
        let log = home.join("log");
        let mut command = Command::new("dnsmasq");
        // Which also says: in the foreground, and as the user that you are.
        command.args(["--no-daemon", "--conf-file=/dev/null", "--pid-file="]);
        command.args([
            "--no-resolv",
            "--no-hosts",
            "--bind-interfaces",
            "--except-interface=lo",
            "--log-queries",
            "--log-facility=-",
        ]);
        command.arg("--address=/#/");
        command.args(addresses.iter().map(|address| format!("--listen-address={address}")));
        let folder = home.join("names");
        fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        let hosts = folder.join("hosts");
        write_names(&hosts, names)?;
        // Of a file that changes there it takes notice.
        command.arg(format!("--hostsdir={}", folder.display()));
        command.arg(format!("--dhcp-leasefile={}", home.join("leases").display()));
        command.arg(format!("--dhcp-hostsdir={}", reservations.display()));
        command.args(extra);
        let process = Process::start(command, &log, &namespace.spawner())
            .context("failed to start dnsmasq: install Debian's `dnsmasq-base`")?;
        let mut server = Self {
            log,
            names: hosts,
            reservations,
            process,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// What it was asked and what it answered, one line each.
    pub fn log(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.log).with_context(|| format!("failed to read `{}`", self.log.display()))
    }

    /// Serves these names from now on, in place of all others.
    pub(super) fn rename(&self, names: &[(&str, Ipv4Addr)]) -> anyhow::Result<()> {
        write_names(&self.names, names)
    }

    /// Keeps an address for a network card.
    pub(super) fn reserve(&self, mac: &str, address: Ipv4Addr) -> anyhow::Result<()> {
        let file = self.reservations.join(address.to_string());
        fs::write(&file, format!("{mac},{address}\n")).with_context(|| format!("failed to write `{}`", file.display()))
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.log()?.contains("started, version") {
            self.process.check()?;
            if Instant::now() > deadline {
                bail!(
                    "failed to see dnsmasq start within {PATIENCE:?}: see `{}`",
                    self.log.display()
                );
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

fn write_names(file: &Path, names: &[(&str, Ipv4Addr)]) -> anyhow::Result<()> {
    let lines = names.iter().map(|(name, address)| format!("{address} {name}\n"));
    fs::write(file, lines.collect::<String>()).with_context(|| format!("failed to write `{}`", file.display()))
}
