//! The region that all cases happen in, and how a machine comes into it.

use std::time::Duration;

use anyhow::Context;
use dynk8s_lab::machine::Machine;
use dynk8s_lab::machine::image::Image;
use dynk8s_lab::prepare::Prepared;
use dynk8s_lab::region::{Equipment, Region, until};
use dynk8s_lab::story::{Newcomer, checks};
use serde_json::Value;

/// A start, emulated, until the kubelet has told of it.
const BOOT_WITHIN: Duration = Duration::from_mins(3);

pub(crate) struct Stage {
    pub(crate) region: Region,
    /// The image that machines start from, if a case has none of its own.
    pub(crate) image: Image,
    keys: u8,
}

/// An instance that is a machine, and was a node at least once.
pub(crate) struct Node {
    pub(crate) machine: Machine,
    pub(crate) newcomer: Newcomer,
    /// Those of the bootstrap tokens that were seen on the way.
    pub(crate) token_secrets: Vec<String>,
}

impl Stage {
    pub(crate) async fn set(prepared: &Prepared) -> anyhow::Result<Self> {
        Ok(Self {
            region: Region::open(&prepared.programs, &prepared.product).await?,
            image: prepared.image.clone(),
            keys: 1,
        })
    }

    /// An announced instance that has a key and is not powered on yet.
    pub(crate) async fn newcomer(&mut self) -> anyhow::Result<Newcomer> {
        self.keys += 1;
        let newcomer = Newcomer::launch(&self.region, self.keys).await?;
        newcomer.is_announced(&self.region).await?;
        Ok(newcomer)
    }

    /// A machine of its own that has joined, and is all that a node must be.
    pub(crate) async fn joined(&mut self, equipment: Equipment) -> anyhow::Result<Node> {
        let newcomer = self.newcomer().await?;
        let machine = self.region.power_on(&self.image, &newcomer.instance, equipment)?;
        self.joins(newcomer, machine).await
    }

    /// Waits until a machine has joined, and looks at all that a node must be.
    pub(crate) async fn joins(&self, newcomer: Newcomer, machine: Machine) -> anyhow::Result<Node> {
        let node = Node {
            token_secrets: newcomer.joins(&self.region, &machine).await?,
            machine,
            newcomer,
        };
        self.look_at(&node).await?;
        Ok(node)
    }

    /// Whether Node, Worker, key, tokens, names and tunnel are as they must be.
    pub(crate) async fn look_at(&self, node: &Node) -> anyhow::Result<()> {
        checks::all(&self.region, &node.machine, &node.newcomer, &node.token_secrets).await
    }

    /// Reboots a node, and waits until the cluster sees it Ready again.
    pub(crate) async fn reboot(&self, node: &Node) -> anyhow::Result<()> {
        node.machine.reboot().await?;
        node.machine.wait_for_agent(BOOT_WITHIN).await?;
        self.is_ready_again(node).await
    }

    /// Waits until the cluster sees a node Ready in its present boot, and has taken its own taints back.
    pub(crate) async fn is_ready_again(&self, node: &Node) -> anyhow::Result<()> {
        let boot = node.machine.read("/proc/sys/kernel/random/boot_id").await?;
        let id = &node.newcomer.instance.id;
        let ready = until("the node is Ready again", BOOT_WITHIN, async || {
            node.machine.check()?;
            let node = self.region.get(&["node", id]).await?;
            Ok(node.filter(|it| {
                checks::is_ready(it) && !is_tainted(it) && it["status"]["nodeInfo"]["bootID"] == boot.trim()
            }))
        });
        let outcome = ready.await.map(drop);
        outcome.with_context(|| format!("the console ends with:\n{}", node.machine.console_tail(40)))
    }
}

/// Whether the cluster itself keeps pods away, as from a node that was not Ready a moment ago.
fn is_tainted(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut keys = taints.iter().filter_map(|it| it["key"].as_str());
    keys.any(|it| it.starts_with("node.kubernetes.io/"))
}
