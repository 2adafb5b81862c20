//! The pool of WireGuard keys, as the operator fills it.

use anyhow::Context;
use serde_json::{Value, json};

use super::Region;
use crate::cluster::NAMESPACE;
use crate::topology::gateway::Tunnel;

const LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";

impl Region {
    /// Admits a peer with the tunnel address `10.98.0.<number>` at the gateway and puts its key into the pool.
    pub async fn add_key(&self, number: u8) -> anyhow::Result<Tunnel> {
        self.add_key_with(number, Tunnel::document).await
    }

    /// The same, with a document of another kind.
    pub async fn add_key_with(&self, number: u8, document: impl Fn(&Tunnel) -> String) -> anyhow::Result<Tunnel> {
        let tunnel = self.topology.premises.gateway.admit(number)?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "dynk8s.du5t1n.me/wireguard-key",
            "metadata": {"name": key_name(number), "namespace": NAMESPACE, "labels": {LABEL: ""}},
            "stringData": {"wireguard-config": document(&tunnel)},
        });
        self.control_plane
            .apply(&secret.to_string())
            .await
            .with_context(|| format!("failed to add key {number} to the pool"))?;
        Ok(tunnel)
    }

    /// The instance that a key of the pool belongs to; empty when it is free.
    pub async fn key_owner(&self, number: u8) -> anyhow::Result<String> {
        let name = key_name(number);
        let key = self
            .get(&["secret", &name, "--namespace", NAMESPACE])
            .await?
            .with_context(|| format!("failed to find key `{name}`"))?;
        Ok(key["metadata"]["labels"][LABEL]
            .as_str()
            .unwrap_or("(no label)")
            .to_owned())
    }

    /// The bootstrap tokens that there are.
    pub async fn tokens(&self) -> anyhow::Result<Vec<Value>> {
        let by_type = "--field-selector=type=bootstrap.kubernetes.io/token";
        let list = self.get(&["secrets", "--namespace=kube-system", by_type]).await?;
        Ok(list.and_then(|it| it["items"].as_array().cloned()).unwrap_or_default())
    }
}

/// The name of a key in the pool.
pub fn key_name(number: u8) -> String {
    format!("wireguard-{number}")
}
