//! An instance on its way to becoming a node.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::checks;
use crate::aws::cloud::Instance;
use crate::aws::eventbridge::InstanceState;
use crate::aws::sns::message::Message;
use crate::machine::Machine;
use crate::region::{Region, until};
use crate::topology::gateway::Tunnel;

/// From power on; a node on AWS must be there before the autoscaler's patience ends, which is 15 minutes.
const JOIN_WITHIN: Duration = Duration::from_mins(5);
/// A start, emulated, until the kubelet has told of it.
const BOOT_WITHIN: Duration = Duration::from_mins(3);
const SOON: Duration = Duration::from_secs(20);

/// An instance, and the key of the pool that is there for it.
#[derive(Debug)]
pub struct Newcomer {
    pub instance: Instance,
    pub key: u8,
    pub tunnel: Tunnel,
}

impl Newcomer {
    /// Adds a key to the pool, and launches an instance.
    pub async fn launch(region: &Region, key: u8) -> anyhow::Result<Self> {
        let tunnel = region.add_key(key).await?;
        let instance = region.launch();
        Ok(Self { instance, key, tunnel })
    }

    /// Adds a key to the pool, and launches an instance in the place of one that is gone.
    pub async fn replace(region: &Region, key: u8, gone: &Instance) -> anyhow::Result<Self> {
        let tunnel = region.add_key(key).await?;
        let instance = region.replace(gone);
        Ok(Self { instance, key, tunnel })
    }

    /// SNS says that the instance is running; done when it has a key.
    pub async fn is_announced(&self, region: &Region) -> anyhow::Result<Message> {
        region.aws.announce(&self.instance, InstanceState::Pending).await?;
        let announcement = region.aws.announce(&self.instance, InstanceState::Running).await?;
        region
            .worker_until("the Worker has a key", SOON, &self.instance, |it| {
                it["status"]["key"].is_string()
            })
            .await?;
        Ok(announcement)
    }

    /// Waits until everybody knows that the node is Ready; the secrets of the tokens that were there meanwhile.
    pub async fn joins(&self, region: &Region, machine: &Machine) -> anyhow::Result<Vec<String>> {
        let outcome = self.seen_joining(region, machine).await;
        outcome.with_context(|| format!("failed to join; the console ends with:\n{}", machine.console_tail(40)))
    }

    async fn seen_joining(&self, region: &Region, machine: &Machine) -> anyhow::Result<Vec<String>> {
        let id = &self.instance.id;
        let seen = RefCell::new(BTreeSet::new());
        until("the Node is Ready", JOIN_WITHIN, async || {
            machine.check()?;
            for token in region.tokens().await? {
                let secret = token["data"]["token-secret"].as_str().unwrap_or_default();
                seen.borrow_mut()
                    .insert(String::from_utf8(BASE64_STANDARD.decode(secret)?)?);
            }
            let node = region.get(&["node", id]).await?;
            Ok(node.filter(checks::is_settled))
        })
        .await?;
        region
            .worker_until(
                "Worker and agent know that the node is Ready",
                SOON,
                &self.instance,
                |it| {
                    let conditions = it["status"]["conditions"].as_array();
                    let admitted = conditions.is_some_and(|all| all.iter().any(checks::is_admission));
                    it["status"]["phase"] == "Ready" && it["status"]["journey"]["outcome"] == "ready" && admitted
                },
            )
            .await?;
        let secrets = seen.into_inner();
        ensure!(!secrets.is_empty(), "no bootstrap token was ever seen");
        Ok(secrets.into_iter().collect())
    }
    /// Reboots the machine, a node, and waits until the cluster sees it Ready in its new boot.
    pub async fn reboots(&self, region: &Region, machine: &Machine) -> anyhow::Result<()> {
        machine.reboot().await?;
        machine.wait_for_agent(BOOT_WITHIN).await?;
        let boot = machine.read("/proc/sys/kernel/random/boot_id").await?;
        let ready = until("the node is Ready again", BOOT_WITHIN, async || {
            machine.check()?;
            let node = region.get(&["node", &self.instance.id]).await?;
            Ok(node.filter(|it| checks::is_settled(it) && it["status"]["nodeInfo"]["bootID"] == boot.trim()))
        });
        let outcome = ready.await.map(drop);
        outcome.with_context(|| format!("the console ends with:\n{}", machine.console_tail(40)))
    }
}
