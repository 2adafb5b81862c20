//! What happens to a host's resolvers in the life of a machine, and what must be true afterwards.

use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::machine::{File, Machine};
use dynk8s_lab::region::until;
use dynk8s_lab::story::checks;
use dynk8s_lab::topology::addresses::VPC_RESOLVER;
use tokio::time::sleep;

use crate::stage::{Node, Stage};

/// So soon the names are right again, whoever has done what.
const SOON: Duration = Duration::from_secs(5);
/// The DHCP server of the lab wants to be asked more often.
const RENEWAL_WITHIN: Duration = Duration::from_secs(40);
const UNITS: &str = "/etc/systemd/system";

/// What makes NetworkManager the one who brings the card up, in place of systemd-networkd.
pub(crate) fn network_manager() -> Vec<File> {
    let enabled = format!("{UNITS}/multi-user.target.wants/NetworkManager.service");
    let profile = "/etc/NetworkManager/system-connections/cloud-init-ens5.nmconnection";
    vec![
        masked("systemd-networkd.service"),
        masked("systemd-networkd.socket"),
        File::link(enabled, "/usr/lib/systemd/system/NetworkManager.service"),
        File::new(profile, 0o600, include_str!("network_manager.nmconnection")),
    ]
}

pub(crate) fn masked(unit: &str) -> File {
    File::link(format!("{UNITS}/{unit}"), "/dev/null")
}

/// Runs programs that make a manager set the network up again, one after the other, and waits for a renewal of the lease in
/// between: through all of it the managers themselves leave the names as they are.
pub(crate) async fn stay(stage: &Stage, node: &Node, faults: &[&[&str]]) -> anyhow::Result<()> {
    for fault in faults {
        node.machine.run(fault).await?;
        sleep(SOON).await;
        let outcome = checks::names(&node.machine).await;
        outcome.with_context(|| format!("after `{}`", fault.join(" ")))?;
    }
    renewal(stage, node).await?;
    checks::names(&node.machine).await.context("after a renewal")?;
    ensure!(
        !rewritten(&node.machine).await?,
        "the names were rewritten and had to be set right again"
    );
    Ok(())
}

async fn renewal(stage: &Stage, node: &Node) -> anyhow::Result<()> {
    let granted = format!("DHCPACK(subnet) {}", node.newcomer.instance.address);
    let leases = || anyhow::Ok(stage.region.topology.vpc.dns_log()?.matches(&granted).count());
    let before = leases()?;
    until("the lease is renewed", RENEWAL_WITHIN, async || {
        Ok((leases()? > before).then_some(()))
    })
    .await
}

/// Somebody writes AWS's resolver into a file, and the agent sets it right and says so.
pub(crate) async fn are_set_right(node: &Node, file: &str) -> anyhow::Result<()> {
    let script = format!("echo nameserver {VPC_RESOLVER} > {file}");
    node.machine.run(&["sh", "-c", &script]).await?;
    until("the names are right again", SOON, async || {
        let right = checks::names(&node.machine).await.is_ok();
        Ok((right && rewritten(&node.machine).await?).then_some(()))
    })
    .await
    .with_context(|| format!("after `{script}`"))
}

async fn rewritten(machine: &Machine) -> anyhow::Result<bool> {
    let said = machine.journal(&["--unit=dynk8s-agent"]).await?;
    Ok(said.contains("somebody has rewritten the host's names"))
}

/// The agent still knows the VPC's resolver, and finds the names of the internet with it.
pub(crate) async fn of_the_vpc_are_known(node: &Node) -> anyhow::Result<()> {
    let known = node.machine.read("/run/dynk8s/uplink.json").await?;
    ensure!(
        known == format!("[\"{VPC_RESOLVER}\"]"),
        "the agent takes {known} for the VPC's resolvers"
    );
    node.machine.run(&["dynk8s-agent", "doctor"]).await.map(drop)
}

/// NetworkManager leaves the tunnel alone.
pub(crate) async fn tunnel_is_unmanaged(node: &Node) -> anyhow::Result<()> {
    let words = ["nmcli", "--get-values", "GENERAL.STATE", "device", "show", "dynk8s"];
    let state = node.machine.run(&words).await?;
    ensure!(
        state.contains("unmanaged"),
        "for NetworkManager the tunnel is {}",
        state.trim()
    );
    Ok(())
}
