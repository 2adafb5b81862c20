//! What [`set`](super::set) would do now, for who changes nothing.

use anyhow::Context as _;

use super::plan::{self, Step, Way};
use super::{HOST_FILE, RESOLVED_FILE, find, resolved};
use crate::tunnel::UplinkLink;

/// Who manages the host's names and what he is told, in lines; an error where nobody known does.
pub(crate) async fn foresee(uplink: &UplinkLink) -> anyhow::Result<Vec<String>> {
    let bus = resolved::bus().await;
    let found = find(bus.as_ref(), uplink).await?;
    let way = plan::way(&found).context("failed to find a way to set the host's names right")?;
    let mut lines = vec![manager(&way)];
    lines.extend(plan::steps(&way).iter().map(step));
    Ok(lines)
}

fn manager(way: &Way) -> String {
    let who = match way {
        Way::Resolved { .. } => "systemd-resolved asks, and systemd-networkd tells it whom",
        Way::ResolvedWithNetworkManager => "systemd-resolved asks, and NetworkManager tells it whom",
        Way::NetworkManager => "NetworkManager alone manages them",
        Way::Plain => "nobody manages them",
    };
    format!("takes the host's names for what they are: {who}")
}

fn step(step: &Step) -> String {
    match step {
        Step::AskTunnel => "has systemd-resolved ask the resolvers of the tunnel for every name".to_owned(),
        Step::DropIn { path, .. } => format!("writes `{}`, until the next boot", path.display()),
        Step::ReloadNetworkd => "has systemd-networkd read its files again".to_owned(),
        Step::ReloadNetworkManager => "has NetworkManager read its files again".to_owned(),
        Step::ForgetUplink => "has systemd-resolved forget what it was told of the VPC's interface".to_owned(),
        Step::AwaitResolved => format!("waits until `{RESOLVED_FILE}` lists the resolvers of the tunnel alone"),
        Step::LinkHostFile => format!("points `{HOST_FILE}` at `{RESOLVED_FILE}`"),
        Step::WriteHostFile => format!("writes `{HOST_FILE}`, with the resolvers of the tunnel alone"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use test_case::test_case;

    use super::{Way, manager, plan, step};

    #[test_case(&Way::Resolved { network_file: PathBuf::from("/etc/systemd/network/50-vpc.network") },
        &["systemd-networkd", "/run/systemd/network/50-vpc.network.d/90-dynk8s.conf", "points `/etc/resolv.conf`"]; "resolved with networkd")]
    #[test_case(&Way::ResolvedWithNetworkManager, &["NetworkManager", "/run/NetworkManager/conf.d/90-dynk8s.conf", "forget"]; "resolved with network manager")]
    #[test_case(&Way::NetworkManager, &["NetworkManager alone", "90-dynk8s.conf", "writes `/etc/resolv.conf`"]; "network manager alone")]
    #[test_case(&Way::Plain, &["nobody manages", "writes `/etc/resolv.conf`"]; "nobody")]
    fn tells_who_is_found_and_which_files_change(way: &Way, expected: &[&str]) {
        let steps = plan::steps(way);
        let told = [vec![manager(way)], steps.iter().map(step).collect()]
            .concat()
            .join("\n");
        for part in expected {
            assert!(told.contains(part), "no `{part}` in:\n{told}");
        }
    }
}
