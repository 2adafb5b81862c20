//! The second step: proving to the provisioner which instance this is, and receiving what it takes to join.

mod client;
mod decide;
mod keys;
mod proof;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::time::Duration;

use dynk8s_api::claim::{ClaimAnswer, ClaimRequest};
use dynk8s_api::{PrivateKey, PublicKey, binding};
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::clock;
use crate::config::CredentialsOf;
use crate::facts::{Facts, Imds};
use crate::retry::{self, Failure, Next, Pauses};
use crate::state::State;
use crate::timeline::Recorder;

pub(crate) use client::Provisioner;
pub(crate) use keys::{KUBELET_PLACE, KubeletKey};

use client::Error;

const PAUSES: Pauses = Pauses {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(15),
};

/// The keys that this machine speaks with. Making them is the last thing before the first request.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) claim: PrivateKey,
    pub(crate) kubelet: KubeletKey,
}

impl Keys {
    /// Takes the keys that are on the disk, or draws them and writes them down first.
    pub(crate) fn load_or_draw(state: &State) -> anyhow::Result<Self> {
        Ok(Self {
            claim: keys::claim_key(&state.claim_key())?,
            kubelet: KubeletKey::load_or_draw(&state.kubelet_key())?,
        })
    }
}

/// Who asks, and whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) imds: &'a Imds,
    pub(crate) keys: &'a Keys,
    pub(crate) provisioner: &'a Provisioner,
    /// The provisioner's key, which names the audience of the proof.
    pub(crate) audience: &'a PublicKey,
    pub(crate) kubelet_version: &'a str,
    /// Whose credentials sign the proof.
    pub(crate) credentials: CredentialsOf,
}

impl Claimant<'_> {
    /// Claims until an answer comes, a refusal is final or the deadline passes. `reset` is the generation that this
    /// machine has reset.
    pub(crate) async fn claim(
        &self,
        reset: Option<u32>,
        within: Duration,
        recorder: &Recorder,
    ) -> anyhow::Result<ClaimAnswer> {
        let deadline = Instant::now() + within;
        let operator_told = Cell::new(false);
        let failed = |error: &Error| {
            let text = decide::chain(error);
            if decide::next(error) == Next::Slowly && !operator_told.replace(true) {
                warn!("waiting for an operator: {text} ({})", decide::remedy(error));
            } else {
                info!("{text}; asking again");
            }
            recorder.again(&text);
        };
        let attempt = async || self.attempt(reset).await;
        retry::until(deadline, PAUSES, attempt, decide::next, failed)
            .await
            .map_err(|failure| self.explain(failure, within))
    }

    async fn attempt(&self, reset: Option<u32>) -> Result<ClaimAnswer, Error> {
        let credentials = self
            .imds
            .credentials(self.credentials)
            .await
            .map_err(Error::Credentials)?;
        let facts = self.facts;
        let binding = binding::binding(&facts.id, &self.keys.claim.public(), self.keys.kubelet.hash());
        let sts = proof::sign(&credentials, &facts.region, self.audience, &binding, Timestamp::now())
            .map_err(Error::Proof)?;
        let request = ClaimRequest {
            nonce: rand::random(),
            sts,
            document: facts.signed.clone(),
            kubelet_key: *self.keys.kubelet.hash(),
            kubelet_version: self.kubelet_version.to_owned(),
            reset,
        };
        self.provisioner.claim(&facts.id, &self.keys.claim, &request).await
    }

    fn explain(&self, failure: Failure<Error>, within: Duration) -> anyhow::Error {
        let error = self.explain_refusal(failure, within);
        match self.provisioner.skew().and_then(clock::explain) {
            Some(clock) => error.context(format!("failed to claim, perhaps because {clock}")),
            None => error,
        }
    }

    fn explain_refusal(&self, failure: Failure<Error>, within: Duration) -> anyhow::Error {
        let host = self.provisioner.host();
        match failure {
            Failure::Final(error) => {
                let remedy = decide::remedy(&error);
                anyhow::Error::new(error).context(format!("failed to claim from `{host}` ({remedy})"))
            }
            Failure::Deadline(Some(error)) => {
                let remedy = decide::remedy(&error);
                anyhow::Error::new(error).context(format!("failed to claim from `{host}` within {within:?} ({remedy})"))
            }
            Failure::Deadline(None) => {
                anyhow::anyhow!("failed to claim from `{host}` within {within:?}: no try came to an end")
            }
        }
    }
}
