//! The pool of WireGuard keys, as the operator fills it.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::{Region, until};
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

    /// Takes a key out of the pool once it is free, so that the next newcomer gets its own.
    pub async fn retire_key(&self, number: u8) -> anyhow::Result<()> {
        until("the key is free", Duration::from_mins(2), async || {
            Ok(self.key_owner(number).await?.is_empty().then_some(()))
        })
        .await?;
        let words = ["delete", "secret", &key_name(number), "--namespace", NAMESPACE];
        self.control_plane.kubectl(&words).await.map(drop)
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
