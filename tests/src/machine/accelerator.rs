//! Whether machines run on the processor or are emulated.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::qemu;
use crate::host::process::{here, run};

/// A whole start of a kernel takes a third of it.
const PATIENCE: Duration = Duration::from_secs(3);

/// How qemu runs a machine's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accelerator {
    /// By the host's processor.
    Kvm,
    /// By translating them.
    Emulation,
}

impl Accelerator {
    /// Tries KVM with a kernel, since a host may offer it and yet hang: without a root that kernel gives up, which ends qemu.
    pub(super) async fn probe(kernel: &Path) -> Self {
        if !Path::new("/dev/kvm").exists() {
            return Self::Emulation;
        }
        let mut command = qemu::bare(Self::Kvm);
        command
            .args([
                "-m",
                "256",
                "-serial",
                "stdio",
                "-append",
                "console=ttyS0 panic=-1",
                "-kernel",
            ])
            .arg(kernel);
        match run(command, b"", PATIENCE, &here()).await {
            Ok(console) if console.contains("Kernel panic") => Self::Kvm,
            _ => Self::Emulation,
        }
    }

    pub(super) fn arguments(self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            // Without AVX, whose emulation takes longer than what it replaces.
            Self::Emulation => ["-accel", "tcg", "-cpu", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+rdrand"],
        }
    }
}
