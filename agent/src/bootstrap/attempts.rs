//! Joining again, with fresh material each time, until it succeeds or the time is up.

use anyhow::{Context as _, anyhow};
use dynk8s_api::claim::ClaimAnswer;
use tokio::time::Instant;
use tracing::warn;

use super::machine::Machine;
use crate::join::{self, Joiner};
use crate::tunnel::Tunnel;

impl Machine<'_> {
    pub(super) async fn join_until(
        &self,
        deadline: Instant,
        joiner: &Joiner<'_>,
        version: &str,
        mut answer: ClaimAnswer,
        mut tunnel: Tunnel,
    ) -> anyhow::Result<(ClaimAnswer, Tunnel)> {
        let remaining = || deadline.saturating_duration_since(Instant::now());
        loop {
            let (cause, log) = match joiner.join(&answer, &tunnel, remaining()).await {
                Ok(()) => return Ok((answer, tunnel)),
                Err(join::Error::Impossible(error)) => return Err(error),
                Err(join::Error::Refused { cause, log }) => (cause, log),
            };
            self.recorder.log(log);
            if remaining().is_zero() {
                return Err(anyhow!("{cause}")).context("failed to join in time");
            }
            warn!("`kubeadm join` failed: {cause}; resetting, and trying again with fresh material");
            self.recorder.again(&cause.to_string());
            self.reset().await?;
            let claimant = self.claimant(version);
            let fresh = claimant.claim(self.state.spent()?, remaining(), self.recorder).await;
            let fresh = fresh.with_context(|| format!("failed to join: {cause}, and no fresh material came"))?;
            self.state.keep(&fresh)?;
            if fresh.wireguard != answer.wireguard {
                tunnel = self.bring_up(&fresh.wireguard).await?;
            }
            answer = fresh;
        }
    }
}
