//! Going a way step by step; what fails half-way is taken back.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use anyhow::Context as _;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};
use zbus::Connection;

use super::before::{self, ResolvConf};
use super::plan::{self, Back, RESOLVED_FILES, Step, Way};
use super::{HOST_FILE, KUBELET_FILE, POLL, RESOLVED_FILE, SWITCH, lists_only, network_manager, resolved};
use crate::host::files;
use crate::tunnel::Tunnel;

/// What the steps are taken with.
pub(super) struct Walk<'a> {
    pub(super) bus: Option<&'a Connection>,
    pub(super) tunnel: &'a Tunnel,
    pub(super) servers: &'a [IpAddr],
    /// The agent's resolver file.
    pub(super) text: &'a str,
}

impl Walk<'_> {
    /// Takes all steps, and reads back what came of them.
    pub(super) async fn go(&self, way: &Way) -> anyhow::Result<()> {
        let before = before::look(Path::new(HOST_FILE))?;
        let gone = self.forward(way).await;
        if gone.is_err() {
            warn!("putting the host's names back as they were");
            self.back(way, &before).await;
        }
        gone
    }

    async fn forward(&self, way: &Way) -> anyhow::Result<()> {
        for step in plan::steps(way) {
            self.take(&step).await?;
        }
        [HOST_FILE, KUBELET_FILE]
            .into_iter()
            .try_for_each(|file| lists_only(Path::new(file), self.servers))
    }

    async fn take(&self, step: &Step) -> anyhow::Result<()> {
        let Self { tunnel, servers, .. } = self;
        match step {
            Step::AskTunnel => resolved::ask(self.bus()?, tunnel.index, servers, &tunnel.search).await,
            Step::DropIn { path, text } => {
                files::public_folder(path.parent().unwrap_or(Path::new("/")))?;
                files::write_if_changed(path, text.as_bytes(), files::PUBLIC).map(|_| ())
            }
            Step::ReloadNetworkd => resolved::reload_networks(self.bus()?).await,
            Step::ReloadNetworkManager => network_manager::reload(self.bus()?).await,
            Step::ForgetUplink => resolved::forget(self.bus()?, tunnel.uplink.index).await,
            Step::AwaitResolved => wait_for_only(Path::new(RESOLVED_FILE), servers).await,
            Step::LinkHostFile => link(),
            Step::WriteHostFile => write(self.text),
        }
    }

    /// Each part is tried whatever becomes of the others; why it came to this is told by the caller.
    async fn back(&self, way: &Way, before: &ResolvConf) {
        for part in plan::back(way) {
            if let Err(error) = self.take_back(&part, before).await {
                warn!("failed to put the names back: {error:#}");
            }
        }
    }

    async fn take_back(&self, part: &Back, before: &ResolvConf) -> anyhow::Result<()> {
        match part {
            Back::HostFile => before::restore(Path::new(HOST_FILE), before),
            Back::DropIn(path) => files::remove(path),
            Back::ReloadNetworkd => resolved::reload_networks(self.bus()?).await,
            Back::ReloadNetworkManager => network_manager::reload(self.bus()?).await,
            Back::ForgetTunnel => resolved::forget(self.bus()?, self.tunnel.index).await,
        }
    }

    fn bus(&self) -> anyhow::Result<&Connection> {
        self.bus
            .context("failed to find the system bus, by which the host's names are managed")
    }
}

fn link() -> anyhow::Result<()> {
    if fs::read_link(HOST_FILE).ok().as_deref() == Some(Path::new(RESOLVED_FILE)) {
        return Ok(());
    }
    info!(
        "`{HOST_FILE}` now points at `{RESOLVED_FILE}` instead of `{}`",
        RESOLVED_FILES[0]
    );
    files::relink(Path::new(HOST_FILE), Path::new(RESOLVED_FILE))
}

/// A file in the place of a link, too: what a manager's link leads to stays the manager's.
fn write(text: &str) -> anyhow::Result<()> {
    let wanted = ResolvConf::File(text.to_owned());
    if before::look(Path::new(HOST_FILE))? == wanted {
        return Ok(());
    }
    before::restore(Path::new(HOST_FILE), &wanted)
}

async fn wait_for_only(file: &Path, servers: &[IpAddr]) -> anyhow::Result<()> {
    let deadline = Instant::now() + SWITCH;
    loop {
        match lists_only(file, servers) {
            Err(_) if Instant::now() < deadline => sleep(POLL).await,
            outcome => return outcome,
        }
    }
}
