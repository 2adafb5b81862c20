//! An instance as a machine: what the image of a user has in it beside Debian, and the power switch.

use std::path::Path;

use anyhow::Context;

use super::Region;
use crate::aws::cloud::Instance;
use crate::host::containment::SCRATCH;
use crate::machine::image::Image;
use crate::machine::{File, Machine, MachineConfig};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/systemd");
const UNIT: &str = "dynk8s-agent.service";
const KUBELET_ORDER: &str = "kubelet.service.d/10-dynk8s.conf";

const MEMORY: u32 = 2048;

/// What one machine has beside what all have.
#[derive(Debug, Clone, Default)]
pub struct Equipment {
    /// Laid over the image; they may replace what all machines have.
    pub files: Vec<File>,
    /// In MiB, where the usual is not enough.
    pub memory: Option<u32>,
}

impl Region {
    /// Powers an instance on.
    pub fn power_on(&self, image: &Image, instance: &Instance, equipment: Equipment) -> anyhow::Result<Machine> {
        let [_, _, _, number] = instance.address.octets();
        let tap = format!("tap{number}");
        self.topology.vpc.tap(&tap, &instance.mac, instance.address)?;
        let config = MachineConfig {
            name: format!("ip-{}", instance.address.to_string().replace('.', "-")),
            mac: instance.mac.clone(),
            tap,
            memory: equipment.memory.unwrap_or(MEMORY),
            files: self.files(equipment)?,
            folder: Path::new(SCRATCH).join(format!("machine{number}")),
        };
        Machine::power_on(image, &config, &self.topology.vpc.namespace().spawner())
    }

    /// What the agent's package and the operator's user data put into an image.
    fn files(&self, equipment: Equipment) -> anyhow::Result<Vec<File>> {
        let agent = &self.product.agent;
        let agent = std::fs::read(agent).with_context(|| format!("failed to read `{}`", agent.display()))?;
        let unit = format!("/usr/lib/systemd/system/{UNIT}");
        let mut files = vec![
            File::new("/usr/bin/dynk8s-agent", 0o755, agent),
            File::new(&unit, 0o644, packaged(UNIT)?),
            File::link(format!("/etc/systemd/system/multi-user.target.wants/{UNIT}"), &unit),
            File::new(
                format!("/usr/lib/systemd/system/{KUBELET_ORDER}"),
                0o644,
                packaged(KUBELET_ORDER)?,
            ),
            File::new("/etc/dynk8s/agent.toml", 0o644, self.agent_configuration()),
            File::new("/etc/dynk8s/ca.pem", 0o644, self.authority.pem()),
        ];
        files.extend(equipment.files);
        Ok(files)
    }
}

fn packaged(file: &str) -> anyhow::Result<String> {
    let path = Path::new(PACKAGING).join(file);
    std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
}
