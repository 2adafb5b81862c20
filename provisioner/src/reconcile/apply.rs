//! Carries a plan out, call by call, until one fails.

mod failure;
mod hand;

use std::time::Duration;

use dynk8s_api::InstanceId;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, info, warn};

use self::hand::Hand;
use super::Context;
use super::decide::{self, Action, Findings, PASS, Turn, Weight};
use crate::worker::Worker;

pub(super) use self::failure::Failure;

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Carries actions out for a Worker, in order.
pub(super) async fn apply(
    context: &Context,
    worker: &Worker,
    instance: &InstanceId,
    actions: Vec<Action>,
) -> Result<(), Failure> {
    let mut hand = Hand::new(&context.client, &context.namespace, worker, instance.clone());
    let ends = Instant::now() + PASS;
    let mut known = worker.status.as_ref().map_or_else(Vec::new, |it| it.conditions.clone());
    for action in actions {
        let words = words(&action);
        let said = match &action {
            Action::Save(findings) => Some(findings.clone()),
            _ => None,
        };
        let call_ends = ends.min(Instant::now() + PATIENCE);
        match timeout_at(call_ends, hand.carry_out(action)).await {
            Ok(done) => done.map_err(|it| it.of(&words))?,
            Err(_) => return Err(Failure::TimedOut { action: words }),
        }
        if let Some(findings) = said {
            debug!("{words}");
            tell(context, worker, &known, &findings);
            known = findings.conditions;
        } else {
            info!("{words}");
        }
    }
    Ok(())
}

/// Tells everybody who listens what is new in the conditions.
fn tell(context: &Context, worker: &Worker, before: &[Condition], after: &Findings) {
    let turns = decide::turns(before, &after.conditions);
    for Turn {
        kind,
        reason,
        message,
        weight,
    } in &turns
    {
        match weight {
            Weight::Quiet => debug!(condition = kind, reason, "{message}"),
            Weight::Normal => info!(condition = kind, reason, "{message}"),
            Weight::Warning => warn!(condition = kind, reason, "{message}"),
        }
    }
    context.events.tell(worker, after.node.as_ref(), &turns);
    let announced = worker.status.as_ref().and_then(|it| it.announced.as_ref());
    for (phase, after) in decide::reached(announced, before, &after.conditions) {
        context.metrics.join(phase, after);
    }
}

/// What is done, for the log and for errors.
fn words(action: &Action) -> String {
    match action {
        Action::Save(_) => "save the status".to_owned(),
        Action::LabelKey { name, .. } => format!("assign the key `{name}`"),
        Action::GiveUpKey { name } => format!("give up the key `{name}`"),
        Action::Quarantine { name, .. } => format!("put the key `{name}` into quarantine"),
        Action::FreeKey { name, .. } => format!("free the key `{name}`"),
        Action::WriteJoin { generation, .. } => format!("keep a token of generation {generation}"),
        Action::CreateToken { id } => format!("create the token `{id}`"),
        Action::DeleteToken { id } => format!("delete the token `{id}`"),
        Action::DeleteJoin { .. } => "delete the join Secret".to_owned(),
        Action::Approve { name, .. } => format!("approve the certificate request `{name}`"),
        Action::PatchNode { taints, .. } => match taints {
            Some(_) => "lift the Node's startup taint".to_owned(),
            None => "label the Node".to_owned(),
        },
        Action::DeleteNode { .. } => "delete the Node".to_owned(),
        Action::DeleteWorker => "remove the tombstone".to_owned(),
    }
}
