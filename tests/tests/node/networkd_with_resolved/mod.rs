//! systemd-networkd tells systemd-resolved: neither names AWS's resolver again, until the node is taken apart. Then its disk
//! becomes an image, and another instance joins with it.

use dynk8s_lab::region::Equipment;

use crate::stage::Stage;
use crate::{resolvers, taken_apart};

const FAULTS: &[&[&str]] = &[
    &["networkctl", "renew", "ens5"],
    &["networkctl", "reconfigure", "ens5"],
    &["systemctl", "restart", "systemd-resolved"],
    &["systemctl", "restart", "systemd-networkd"],
];

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let node = stage
        .joined(Equipment {
            files: vec![taken_apart::journal_on_disk()],
            ..Equipment::default()
        })
        .await?;
    resolvers::stay(stage, &node, FAULTS).await?;
    resolvers::of_the_vpc_are_known(&node).await?;
    resolvers::are_set_right(&node, "/run/systemd/resolve/resolv.conf").await?;
    taken_apart::by_reset(&node).await?;
    taken_apart::into_an_image(&node).await?;
    stage.becomes_another(node).await.map(drop)
}
