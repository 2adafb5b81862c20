//! The region that all cases happen in, and how a machine comes into it.

use std::path::PathBuf;

use dynk8s_lab::aws::eventbridge::InstanceState;
use dynk8s_lab::machine::Machine;
use dynk8s_lab::machine::image::Image;
use dynk8s_lab::prepare::Prepared;
use dynk8s_lab::region::{Equipment, Region};
use dynk8s_lab::story::{Newcomer, checks};

pub(crate) struct Stage {
    pub(crate) region: Region,
    /// An OCI layout.
    pub(crate) provisioner_image: PathBuf,
    image: Image,
    keys: u8,
}

/// An instance that is a machine, and was a node at least once.
pub(crate) struct Node {
    pub(crate) machine: Machine,
    pub(crate) newcomer: Newcomer,
    /// Those of the bootstrap tokens that were seen on the way.
    token_secrets: Vec<String>,
}

impl Node {
    /// What nobody but this node and its cluster may know.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let tunnel = &self.newcomer.tunnel.keys.private;
        [self.token_secrets.as_slice(), std::slice::from_ref(tunnel)].concat()
    }
}

impl Stage {
    pub(crate) async fn set(prepared: &Prepared, provisioner_image: PathBuf) -> anyhow::Result<Self> {
        Ok(Self {
            region: Region::open(&prepared.programs, &prepared.product).await?,
            provisioner_image,
            image: prepared.image.clone(),
            keys: 1,
        })
    }

    /// A machine of its own that has joined, and is all that a node must be.
    pub(crate) async fn joined(&mut self, equipment: Equipment) -> anyhow::Result<Node> {
        self.keys += 1;
        let newcomer = Newcomer::launch(&self.region, self.keys).await?;
        newcomer.is_announced(&self.region).await?;
        let machine = self.region.power_on(&self.image, &newcomer.instance, equipment)?;
        self.node_of(machine, newcomer).await
    }

    /// Waits until the machine is a node, and looks at it.
    async fn node_of(&self, machine: Machine, newcomer: Newcomer) -> anyhow::Result<Node> {
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

    /// The disk of a node starts again as that of another instance, as from an image that was made of it, and joins as its own.
    pub(crate) async fn becomes_another(&mut self, node: Node) -> anyhow::Result<Node> {
        let Node { machine, newcomer, .. } = node;
        let rested = newcomer.key;
        self.region
            .aws
            .announce(&newcomer.instance, InstanceState::Terminated)
            .await?;
        self.keys += 1;
        let newcomer = Newcomer::replace(&self.region, self.keys, &newcomer.instance).await?;
        newcomer.is_announced(&self.region).await?;
        machine.reboot().await?;
        let node = self.node_of(machine, newcomer).await?;
        self.region.retire_key(rested).await?;
        Ok(node)
    }

    /// Reboots a node, and waits until the cluster sees it Ready again.
    pub(crate) async fn reboot(&self, node: &Node) -> anyhow::Result<()> {
        node.newcomer.reboots(&self.region, &node.machine).await
    }
}
