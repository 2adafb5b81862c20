//! The region that all faults happen in.

use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::aws::cloud::Instance;
use dynk8s_lab::aws::eventbridge::InstanceState;
use dynk8s_lab::prepare::Prepared;
use dynk8s_lab::region::{Region, Site, until};
use dynk8s_lab::topology::gateway::Tunnel;
use serde_json::Value;

/// A join with kubeadm's stand-in takes seconds.
pub(crate) const SOON: Duration = Duration::from_secs(40);

pub(crate) struct Stage {
    pub(crate) region: Region,
    keys: u8,
}

impl Stage {
    pub(crate) async fn set(prepared: &Prepared) -> anyhow::Result<Self> {
        let region = Region::open(&prepared.programs, &prepared.product).await?;
        Ok(Self { region, keys: 1 })
    }

    /// An instance that SNS has announced.
    pub(crate) async fn announced(&self) -> anyhow::Result<Instance> {
        let instance = self.region.launch();
        self.region.aws.announce(&instance, InstanceState::Running).await?;
        Ok(instance)
    }

    /// An announced instance for which there is a key.
    pub(crate) async fn newcomer(&mut self) -> anyhow::Result<(Instance, Tunnel)> {
        let tunnel = self.add_key().await?;
        Ok((self.announced().await?, tunnel))
    }

    /// The same with a key whose tunnel leads everywhere.
    pub(crate) async fn newcomer_with_default_route(&mut self) -> anyhow::Result<Instance> {
        self.keys += 1;
        let everywhere = |it: &Tunnel| it.document_for("0.0.0.0/0, ::/0");
        self.region.add_key_with(self.keys, everywhere).await?;
        self.announced().await
    }

    pub(crate) async fn add_key(&mut self) -> anyhow::Result<Tunnel> {
        self.keys += 1;
        self.region.add_key(self.keys).await
    }

    /// Waits for the Node, and looks at what must be true of each.
    pub(crate) async fn joins(&self, instance: &Instance, site: &Site) -> anyhow::Result<Value> {
        let ready = self
            .region
            .worker_until("the node joins", SOON, instance, |it| it["status"]["phase"] == "Ready")
            .await;
        let worker = ready.with_context(|| format!("failed to join; the agent says:\n{}", site.log()))?;
        let node = self
            .region
            .get(&["node", &instance.id])
            .await?
            .context("failed to find the Node")?;
        let provider_id = format!("aws:///{}/{}", instance.zone, instance.id);
        ensure!(node["spec"]["providerID"] == provider_id, "{node}");
        until("the token is gone", SOON, async || {
            Ok(self.tokens_of(instance).await?.is_empty().then_some(()))
        })
        .await?;
        Ok(worker)
    }

    /// The bootstrap tokens of an instance.
    pub(crate) async fn tokens_of(&self, instance: &Instance) -> anyhow::Result<Vec<Value>> {
        let label = "dynk8s.du5t1n.me/ec2-instance-id";
        let mut tokens = self.region.tokens().await?;
        tokens.retain(|it| it["metadata"]["labels"][label] == instance.id.as_str());
        Ok(tokens)
    }

    /// How often an instance has asked for its claim so far.
    pub(crate) fn claims_of(&self, instance: &Instance) -> usize {
        let path = format!("/v1/workers/{}/claim", instance.id);
        let exchanges = self.region.ingress.journal().entries();
        exchanges.iter().filter(|it| it.path == path).count()
    }

    /// Waits until an instance has asked so often.
    pub(crate) async fn has_claimed(&self, instance: &Instance, times: usize) -> anyhow::Result<()> {
        until("the agent claims", SOON, async || {
            Ok((self.claims_of(instance) >= times).then_some(()))
        })
        .await
    }
}

/// The one line that an agent ends with names all of these.
pub(crate) fn names(line: &str, words: &[&str]) -> anyhow::Result<()> {
    for word in words {
        ensure!(line.contains(word), "the error line does not name `{word}`: {line}");
    }
    Ok(())
}
