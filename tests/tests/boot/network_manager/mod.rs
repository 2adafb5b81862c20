//! NetworkManager brings the card up, as on Fedora, and not systemd-networkd.

use dynk8s_lab::machine::File;
use dynk8s_lab::region::Equipment;

use crate::stage::Stage;

const UNITS: &str = "/etc/systemd/system";
const PROFILE: &str = include_str!("../../node/network_manager.nmconnection");

pub(crate) async fn case(stage: &mut Stage) -> anyhow::Result<()> {
    let newcomer = stage.launch().await?;
    let equipment = Equipment {
        files: vec![
            File::link(format!("{UNITS}/systemd-networkd.service"), "/dev/null"),
            File::link(format!("{UNITS}/systemd-networkd.socket"), "/dev/null"),
            File::link(
                format!("{UNITS}/multi-user.target.wants/NetworkManager.service"),
                "/usr/lib/systemd/system/NetworkManager.service",
            ),
            File::new(
                "/etc/NetworkManager/system-connections/cloud-init-ens5.nmconnection",
                0o600,
                PROFILE,
            ),
        ],
        ..Equipment::default()
    };
    let node = stage.start(&stage.configured, newcomer, equipment)?;
    stage.joins(&node).await?;
    node.was_started_once().await
}
