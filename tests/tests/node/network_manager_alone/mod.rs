//! NetworkManager alone writes the host's resolver file: it leaves the agent's alone.

use dynk8s_lab::machine::File;
use dynk8s_lab::region::Equipment;

use crate::resolvers::{self, masked};
use crate::stage::Stage;

const FAULTS: &[&[&str]] = &[
    &["nmcli", "connection", "up", "cloud-init ens5"],
    &["nmcli", "device", "reapply", "ens5"],
    &["systemctl", "restart", "NetworkManager"],
];

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let mut files = resolvers::network_manager();
    files.push(masked("systemd-resolved.service"));
    files.push(File::new(
        "/etc/NetworkManager/conf.d/lab.conf",
        0o644,
        include_str!("NetworkManager.conf"),
    ));
    let unit = "/etc/systemd/system/NetworkManager.service.d/lab.conf";
    files.push(File::new(unit, 0o644, include_str!("NetworkManager.service.conf")));
    let node = stage
        .joined(Equipment {
            files,
            ..Equipment::default()
        })
        .await?;
    resolvers::tunnel_is_unmanaged(&node).await?;
    resolvers::stay(stage, &node, FAULTS).await?;
    resolvers::of_the_vpc_are_known(&node).await?;
    resolvers::are_set_right(&node, "/etc/resolv.conf").await
}
