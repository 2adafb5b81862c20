//! The last step: the Node is there, it is ours, and it is Ready. kubeadm's success says none of these.

mod decide;

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::time::Instant;

use crate::api_server::ApiServer;
use crate::facts::Facts;
use crate::retry::{self, Next, Pauses};
use crate::timeline::Recorder;

pub(crate) use decide::Standing;

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(5),
};

/// Looks at this machine's Node with the kubelet's own credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) api_server: ApiServer<'a>,
}

impl Watch<'_> {
    /// Waits until the Node is Ready. At the deadline, a Node that is ours but not Ready is no error.
    pub(crate) async fn wait(&self, deadline: Instant, recorder: &Recorder) -> anyhow::Result<Standing> {
        let seen = RefCell::new(None);
        let attempt = async || match self.look().await? {
            Standing::Ready => Ok(Standing::Ready),
            standing => {
                let error = self.complaint(&standing);
                *seen.borrow_mut() = Some(standing);
                Err(error)
            }
        };
        let failed = |error: &anyhow::Error| recorder.tries_again(&format!("{error:#}"));
        let outcome = retry::until(deadline, PAUSES, attempt, |_| Next::Again, failed).await;
        match (outcome, seen.into_inner()) {
            (Ok(standing), _) | (Err(_), Some(standing @ Standing::NotReady(_))) => Ok(standing),
            (Err(failure), _) => Err(failure.into_error()),
        }
    }

    /// Looks once.
    pub(crate) async fn look(&self) -> anyhow::Result<Standing> {
        let failed = || format!("failed to read the Node `{}`", self.facts.id);
        let node = self.api_server.node(&self.facts.id).await?.ok_or_else(|| {
            anyhow!("there is no such Node yet; `journalctl -u kubelet` tells why it does not register")
        });
        let node = serde_json::from_value(node.with_context(failed)?).with_context(failed)?;
        Ok(decide::standing(&node, &self.facts.provider_id()))
    }

    /// What is wrong with a Node that stands so.
    pub(crate) fn complaint(&self, standing: &Standing) -> anyhow::Error {
        let id = &self.facts.id;
        match standing {
            Standing::Ready => anyhow!("the Node `{id}` is Ready"),
            Standing::NotReady(why) => anyhow!("the Node `{id}` is not Ready yet: {why}"),
            Standing::Foreign(other) => anyhow!(
                "the Node `{id}` has the provider id `{other}` instead of `{}`: an older Node of this name is in the way; \
                 delete it",
                self.facts.provider_id()
            ),
        }
    }
}
