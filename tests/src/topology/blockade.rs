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
        Self::at("prerouting", namespace, expression)
    }

    /// The same for what programs of the namespace itself send.
    pub fn raise_for_sent(namespace: Arc<Namespace>, expression: &str) -> anyhow::Result<Self> {
        Self::at("output", namespace, expression)
    }

    fn at(hook: &str, namespace: Arc<Namespace>, expression: &str) -> anyhow::Result<Self> {
        let table = format!("blockade_{}", Uuid::new_v4().simple());
        namespace.nft(&format!(
            "table inet {table} {{\n chain lost {{\n type filter hook {hook} priority raw;\n {expression} drop\n }}\n}}"
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
