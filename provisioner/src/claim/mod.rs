//! A claim: recorded, then served as soon as there is what it asks for.
//!
//! Nothing here has any power: the key and the token are made by `reconcile`, which sees what is written down here.

mod audit;
pub mod cluster;
pub mod decide;
mod hand_out;
pub mod render;

use std::time::Duration;

use dynk8s_api::claim::{ClaimAnswer, ClaimRequest};
use dynk8s_api::problem::Reason;
use dynk8s_api::{InstanceId, PublicKey};
use jiff::Timestamp;

use self::cluster::Cluster;
use self::decide::{Step, decide};
use crate::config::Live;
use crate::proof::decide::by_document;
use crate::proof::sts::{self, Sts};
use crate::proof::{Asked, Identity, Standing, check};
use crate::refusal::Refusal;
use crate::store::{Error, Store};
use crate::view::View;
use crate::worker::{Wish, Worker};

/// How many writes a claim may need, and how often somebody else may be faster than we are.
const ATTEMPTS: usize = 12;

pub use audit::Audit;

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
        let mut audit = Audit::new(id, &sender);
        let answer = self.decide(id, sender, request, &mut audit).await;
        match &answer {
            Ok(answer) => audit.served(answer.generation),
            Err(refusal) => audit.refused(refusal),
        }
        answer
    }

    async fn decide(
        &self,
        id: &InstanceId,
        sender: PublicKey,
        request: ClaimRequest,
        audit: &mut Audit,
    ) -> Result<ClaimAnswer, Refusal> {
        let asked = check::check(id, sender, request, &self.config.get(), Timestamp::now())?;
        let version = self.cluster.version(&self.store).await.map_err(unavailable)?;
        let asked = asked.compared_with(&version);
        let (worker, generation) = self.record(id, &asked, audit).await?;
        self.hand_out(id, &asked, &worker, generation).await
    }

    /// Writes down what the claim says, step by step, until the decision is to serve it or to refuse it.
    async fn record(&self, id: &InstanceId, asked: &Asked, audit: &mut Audit) -> Result<(Worker, u32), Refusal> {
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
                (Step::Refuse(reason, text), _) => return Err(Refusal::new(reason, text)),
                (Step::Serve(generation), Some(worker)) => return Ok((worker, generation)),
                (Step::Prove, before) => {
                    let identity = self.prove(id, asked, before.as_ref()).await?;
                    audit.proven(identity.by());
                    proven = Some(identity);
                    worker = before;
                    continue;
                }
                (Step::Record(change), Some(worker)) => {
                    let written = self.store.record(&worker, change.patch()).await;
                    if written.is_ok() {
                        audit.recorded(&change);
                    }
                    written
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
        Err(Refusal::new(Reason::Busy, "the Worker is being changed by others"))
    }

    /// Who it is: by the document where that is enough, else by STS and by what the document says beside it.
    async fn prove(&self, id: &InstanceId, asked: &Asked, worker: Option<&Worker>) -> Result<Identity, Refusal> {
        let config = self.config.get();
        if let Some(identity) = by_document(asked, &config) {
            return Ok(identity);
        }
        let status = worker.and_then(|it| it.status.as_ref());
        let announced = status.is_some_and(|it| it.announced.is_some());
        let standing = if announced || asked.document.is_some() {
            Standing::Known
        } else {
            Standing::Stranger
        };
        let roles = config.node_groups.iter().filter_map(|it| it.role.as_ref());
        let identity = self.sts.prove(id, asked, standing, roles).await.map_err(not_proven)?;
        identity.with_document(asked.document.as_ref()).ok_or_else(|| {
            Refusal::new(Reason::NotProven, "the identity document does not prove this instance")
                .because("the identity document is of another account than the one that STS names")
        })
    }
}

fn not_proven(refusal: sts::Refusal) -> Refusal {
    let told = refusal.to_string();
    match refusal {
        sts::Refusal::Unknown(_) => Refusal::new(Reason::NotProven, told),
        sts::Refusal::Another(caller) => {
            Refusal::new(Reason::NotProven, told).because(format!("the proof is of `{}`", caller.arn))
        }
        sts::Refusal::Busy => Refusal::new(Reason::Busy, told),
        sts::Refusal::Unavailable(source) => {
            Refusal::new(Reason::Unavailable, told.clone()).because(format!("{told}: {source:#}"))
        }
    }
}

/// Outsiders are not told what is wrong with the API server.
fn unavailable(error: Error) -> Refusal {
    let because = format!("{:#}", anyhow::Error::new(error));
    Refusal::new(Reason::Unavailable, "the cluster's API server could not be asked").because(because)
}
