//! A claim: recorded, then served as soon as there is what it asks for.
//!
//! Nothing here has any power: the key and the token are made by `reconcile`, which sees what is written down here.

pub mod cluster;
pub mod decide;
mod hand_out;
pub mod render;

use std::time::Duration;

use dynk8s_api::claim::{ClaimAnswer, ClaimRequest};
use dynk8s_api::problem::Reason;
use dynk8s_api::{InstanceId, PublicKey};
use jiff::Timestamp;
use tracing::{error, info, warn};

use self::cluster::Cluster;
use self::decide::{Change, Step, decide};
use crate::config::Live;
use crate::proof::sts::{self, Sts};
use crate::proof::{Asked, check};
use crate::store::{Error, Store};
use crate::view::View;
use crate::worker::{Wish, Worker};

/// How many writes a claim may need, and how often somebody else may be faster than we are.
const ATTEMPTS: usize = 12;

/// A refusal: for the agent's code, and in words.
pub type Refusal = (Reason, String);

/// Answers claims.
#[derive(Debug)]
pub struct Claims {
    pub config: Live,
    pub store: Store,
    pub view: View,
    pub sts: Sts,
    pub cluster: Cluster,
    /// How long a claim waits for what it asks for.
    pub patience: Duration,
}

impl Claims {
    /// Answers the claim that was in the envelope of `sender`.
    pub async fn answer(
        &self,
        id: &InstanceId,
        sender: PublicKey,
        request: ClaimRequest,
    ) -> Result<ClaimAnswer, Refusal> {
        let version = self.cluster.version(&self.store).await.map_err(unavailable)?;
        let asked = check::check(sender, request, &version, &self.config.get(), Timestamp::now())?;
        let (worker, generation) = self.record(id, &asked).await?;
        self.hand_out(id, &asked, &worker, generation).await
    }

    /// Writes down what the claim says, step by step, until the decision is to serve it or to refuse it.
    async fn record(&self, id: &InstanceId, asked: &Asked) -> Result<(Worker, u32), Refusal> {
        let mut proven = None;
        let mut worker = self.store.worker(id).await.map_err(unavailable)?;
        for _ in 0..ATTEMPTS {
            let step = decide(
                worker.as_ref(),
                asked,
                proven.as_ref(),
                &self.config.get(),
                Timestamp::now(),
            );
            let written = match (step, worker.take()) {
                (Step::Refuse(reason, text), _) => return Err((reason, text)),
                (Step::Serve(generation), Some(worker)) => return Ok((worker, generation)),
                (Step::Prove, before) => {
                    let identity = self.sts.prove(id, asked).await.map_err(|it| not_proven(&it))?;
                    info!(instance = %id, account = identity.account, "instance proven by STS");
                    proven = Some(identity);
                    worker = before;
                    continue;
                }
                (Step::Record(change), Some(worker)) => {
                    audit(id, asked, &change);
                    self.store.record(&worker, change.patch()).await
                }
                (Step::Create | Step::Serve(_) | Step::Record(_), _) => {
                    self.store.create_worker(id, Wish::Running).await
                }
            };
            worker = match written {
                Ok(worker) => Some(worker),
                Err(Error::Conflict | Error::NotFound) => self.store.worker(id).await.map_err(unavailable)?,
                Err(error) => return Err(unavailable(error)),
            };
        }
        Err((Reason::Busy, "the Worker is being changed by others".to_owned()))
    }
}

fn audit(id: &InstanceId, asked: &Asked, change: &Change) {
    let claim_key = asked.sender.fingerprint();
    match change {
        Change::Attested(_) => info!(instance = %id, claim_key, "instance attested before it was announced"),
        Change::Bound(..) => info!(instance = %id, claim_key, "claim bound"),
        Change::Reset(generation) => info!(instance = %id, claim_key, generation, "join reset"),
        Change::Renewed(_) => info!(instance = %id, claim_key, "claim renewed"),
        Change::Contested(_) => {
            warn!(instance = %id, claim_key, "claim contested: a valid proof came with another key; one of them is a theft");
        }
    }
}

fn not_proven(refusal: &sts::Refusal) -> Refusal {
    let reason = match refusal {
        sts::Refusal::NotProven(_) => Reason::NotProven,
        sts::Refusal::Busy => Reason::Busy,
        sts::Refusal::Unavailable(source) => {
            warn!(error = format!("{source:#}"), "failed to ask STS");
            Reason::Unavailable
        }
    };
    (reason, refusal.to_string())
}

/// Outsiders are not told what is wrong with the API server.
fn unavailable(error: Error) -> Refusal {
    error!(
        error = format!("{:#}", anyhow::Error::new(error)),
        "failed to read or write in the API server"
    );
    (
        Reason::Unavailable,
        "the cluster's API server could not be asked".to_owned(),
    )
}
