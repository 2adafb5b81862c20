//! An image that is unfit for a node, in ways that an agent puts right: once, or at each boot.

use anyhow::ensure;
use dynk8s_lab::machine::File;

use crate::stage::Node;

/// As the packages of cri-o call theirs.
const FOREIGN: &str = "/etc/cni/net.d/11-crio-ipv4-bridge.conflist";

pub(super) fn image() -> Vec<File> {
    let unit = "/etc/systemd/system/swap.service";
    vec![
        File::new(unit, 0o644, include_str!("swap.service")),
        File::link("/etc/systemd/system/multi-user.target.wants/swap.service", unit),
        File::new("/etc/sysctl.d/99-lab.conf", 0o644, include_str!("forwarding.conf")),
        File::new(FOREIGN, 0o644, include_str!("bridge.conflist")),
    ]
}

/// The runtime does not read it. The lab gives a machine its files at each boot, so this is for the first.
pub(super) async fn network_was_set_aside(node: &Node) -> anyhow::Result<()> {
    let networks = node.machine.run(&["ls", "/etc/cni/net.d"]).await?;
    let foreign = FOREIGN.rsplit('/').next().unwrap_or_default();
    ensure!(
        networks.lines().all(|it| it != foreign) && networks.contains(&format!("{foreign}.set-aside-by-dynk8s")),
        "{networks}"
    );
    Ok(())
}

/// What each boot brings back is off, and it was on in this boot.
pub(super) async fn was_put_right(node: &Node) -> anyhow::Result<()> {
    let swap = node.machine.read("/proc/swaps").await?;
    ensure!(swap.lines().count() == 1, "swap is on: {swap}");
    let forwarding = node.machine.read("/proc/sys/net/ipv4/ip_forward").await?;
    ensure!(forwarding.trim() == "1", "packets are not forwarded");
    let said = node.machine.journal(&["--unit=dynk8s-agent"]).await?;
    for what in ["swap is on (`/var/lab.swap`)", "`net.ipv4.ip_forward` is 0"] {
        ensure!(said.contains(what), "the agent does not say `{what}`:\n{said}");
    }
    Ok(())
}
