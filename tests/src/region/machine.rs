//! An instance as a machine: what the image of a user has in it beside Debian, and the power switch.

use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;

use super::Region;
use crate::aws::cloud::Instance;
use crate::host::containment::SCRATCH;
use crate::machine::image::Image;
use crate::machine::packaged::{self, Content};
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
    /// What the machine's clock shows at first, if not the time.
    pub clock: Option<Timestamp>,
}

impl Region {
    /// Powers an instance on, with what the agent's package and the operator's user data would put into it.
    pub fn power_on(&self, image: &Image, instance: &Instance, mut equipment: Equipment) -> anyhow::Result<Machine> {
        let mut files = self.files()?;
        files.append(&mut equipment.files);
        self.boot(image, instance, Equipment { files, ..equipment })
    }

    /// Powers an instance on, with nothing but its equipment in it.
    pub fn boot(&self, image: &Image, instance: &Instance, equipment: Equipment) -> anyhow::Result<Machine> {
        let [_, _, _, number] = instance.address.octets();
        let tap = format!("tap{number}");
        self.topology.vpc.tap(&tap, &instance.mac, instance.address)?;
        let config = MachineConfig {
            instance: instance.id.clone(),
            name: format!("ip-{}", instance.address.to_string().replace('.', "-")),
            mac: instance.mac.clone(),
            tap,
            memory: equipment.memory.unwrap_or(MEMORY),
            clock: equipment.clock,
            files: equipment.files,
            folder: Path::new(SCRATCH).join(format!("machine{number}")),
        };
        Machine::power_on(image, &config, &self.topology.vpc.namespace().spawner())
    }

    /// An image in which the package is installed, as an operator makes one; its files are of this region's life.
    pub async fn packaged(&self, from: &Image, package: &Path, configured: bool) -> anyhow::Result<Image> {
        let content = Content {
            authority: self.authority.pem().clone(),
            configuration: configured.then(|| self.short_configuration()),
        };
        let name = if configured { "configured" } else { "baked" };
        packaged::image(from, package, content, &Path::new(SCRATCH).join(name)).await
    }

    fn files(&self) -> anyhow::Result<Vec<File>> {
        let agent = &self.product.agent;
        let agent = std::fs::read(agent).with_context(|| format!("failed to read `{}`", agent.display()))?;
        let unit = format!("/usr/lib/systemd/system/{UNIT}");
        Ok(vec![
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
        ])
    }
}

fn packaged(file: &str) -> anyhow::Result<String> {
    let path = Path::new(PACKAGING).join(file);
    std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
}
