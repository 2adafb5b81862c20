//! NetworkManager tells systemd-resolved: neither names AWS's resolver again.

use dynk8s_lab::region::Equipment;

use crate::resolvers;
use crate::stage::Stage;

const FAULTS: &[&[&str]] = &[
    &["nmcli", "connection", "up", "cloud-init ens5"],
    &["nmcli", "device", "reapply", "ens5"],
    &["systemctl", "restart", "systemd-resolved"],
    &["systemctl", "restart", "NetworkManager"],
];

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let files = resolvers::network_manager();
    let node = stage
        .joined(Equipment {
            files,
            ..Equipment::default()
        })
        .await?;
    resolvers::tunnel_is_unmanaged(&node).await?;
    resolvers::stay(stage, &node, FAULTS).await?;
    resolvers::of_the_vpc_are_known(&node).await
}
