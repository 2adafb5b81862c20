//! systemd-networkd tells systemd-resolved: neither names AWS's resolver again.

use dynk8s_lab::region::Equipment;

use crate::resolvers;
use crate::stage::Stage;

const FAULTS: &[&[&str]] = &[
    &["networkctl", "renew", "ens5"],
    &["networkctl", "reconfigure", "ens5"],
    &["systemctl", "restart", "systemd-resolved"],
    &["systemctl", "restart", "systemd-networkd"],
];

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let node = stage.joined(Equipment::default()).await?;
    resolvers::stay(stage, &node, FAULTS).await?;
    resolvers::of_the_vpc_are_known(&node).await?;
    resolvers::are_set_right(&node, "/run/systemd/resolve/resolv.conf").await
}
