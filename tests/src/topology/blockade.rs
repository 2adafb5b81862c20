//! Packets that get lost on purpose, until the blockade is lifted.

use std::process::Command;
use std::sync::Arc;

use uuid::Uuid;

use crate::host::namespace::Namespace;

/// Drops matching packets that arrive in a namespace; lifted on drop.
#[derive(Debug)]
pub struct Blockade {
    namespace: Arc<Namespace>,
    table: String,
}

impl Blockade {
    /// Raises a blockade of the packets that an nftables expression matches, such as `udp dport 51820`.
    pub fn raise(namespace: Arc<Namespace>, expression: &str) -> anyhow::Result<Self> {
        let table = format!("blockade_{}", Uuid::new_v4().simple());
        namespace.nft(&format!(
            "table inet {table} {{\n chain arriving {{\n type filter hook prerouting priority raw;\n {expression} drop\n }}\n}}"
        ))?;
        Ok(Self { namespace, table })
    }
}

impl Drop for Blockade {
    fn drop(&mut self) {
        let mut command = Command::new("nft");
        command.args(["delete", "table", "inet", &self.table]);
        if let Err(error) = self.namespace.output(command) {
            tracing::warn!("{error:#}");
        }
    }
}
