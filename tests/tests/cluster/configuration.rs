//! The configurations that the agent gives to a join, held against the real kubeadm's strict reading.

use std::process::{Command, Output};

use anyhow::{Context, ensure};
use dynk8s_lab::host::room::Room;

use crate::Cluster;

/// As the agent renders them; its own tests hold these files against what it renders.
const V1BETA4: &str = include_str!("../../../agent/testdata/join/config.json");
const V1BETA3: &str = include_str!("../../../agent/testdata/join/config.v1beta3.json");
const DISCOVERY: &str = include_str!("../../../agent/testdata/join/discovery.json");

const PROGRAM: &str = "/usr/bin/kubeadm";
const FOLDER: &str = "/run/dynk8s/join";

/// The first minor release that does not read v1beta3 any more.
const WITHOUT_V1BETA3: u32 = 37;

pub(crate) fn v1beta4_is_accepted(cluster: &Cluster) -> anyhow::Result<()> {
    let output = validate(cluster, "v1beta4", V1BETA4)?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// Otherwise the acceptance would prove nothing.
pub(crate) fn a_misspelt_field_is_refused(cluster: &Cluster) -> anyhow::Result<()> {
    let output = validate(cluster, "misspelt", &V1BETA4.replace("criSocket", "criSock"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && complaint.contains("unknown field \"nodeRegistration.criSock\""),
        "{output:?}"
    );
    Ok(())
}

/// kubeadm before 1.31 wants v1beta3, and 1.37 reads it no more, so one program cannot speak for both. The kubeadm of 1.30.14 has
/// accepted this file; `KUBE_BIN_DIR` with programs of such a release shows it again.
pub(crate) fn v1beta3_is_accepted_before_1_37_and_then_no_more(cluster: &Cluster) -> anyhow::Result<()> {
    let output = validate(cluster, "v1beta3", V1BETA3)?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if minor(cluster.control_plane.version())? < WITHOUT_V1BETA3 {
        ensure!(output.status.success(), "{output:?}");
    } else {
        ensure!(complaint.contains("uses an old API spec"), "{output:?}");
    }
    Ok(())
}

fn validate(cluster: &Cluster, name: &str, configuration: &str) -> anyhow::Result<Output> {
    let room = Room::furnish(name, cluster.machine.clone())?;
    room.install(&cluster.kubeadm, PROGRAM)?;
    let path = format!("{FOLDER}/config.json");
    room.write(&path, configuration, 0o600)?;
    room.write(&format!("{FOLDER}/discovery.json"), DISCOVERY, 0o600)?;
    let mut kubeadm = Command::new(PROGRAM);
    kubeadm.args(["config", "validate", "--config", &path]);
    Ok(room.run(|| kubeadm.output())??)
}

/// 37 for `v1.37.2`.
fn minor(version: &str) -> anyhow::Result<u32> {
    let minor = version.split('.').nth(1).and_then(|it| it.parse().ok());
    minor.with_context(|| format!("no minor release in `{version}`"))
}
