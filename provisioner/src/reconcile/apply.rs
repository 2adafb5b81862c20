//! Carries a plan out, call by call, until one fails.

mod failure;
mod hand;

use std::time::Duration;

use dynk8s_api::InstanceId;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use self::hand::Hand;
use super::decide::Action;
use crate::worker::Worker;

pub(super) use self::failure::Failure;

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an operator must hear of: reasons of conditions.
const ALARMS: [&str; 7] = [
    "AddressInUse",
    "Contested",
    "ForeignAddress",
    "ForeignNode",
    "Ignored",
    "NodeExists",
    "PoolEmpty",
];

/// Carries actions out for a Worker, in order.
pub(super) async fn apply(
    client: &Client,
    namespace: &str,
    worker: &Worker,
    instance: &InstanceId,
    actions: Vec<Action>,
) -> Result<(), Failure> {
    let mut hand = Hand::new(client, namespace, worker, instance.clone());
    let mut known = worker.status.as_ref().map_or_else(Vec::new, |it| it.conditions.clone());
    for action in actions {
        let words = words(&action);
        let said = match &action {
            Action::Save(findings) => Some(findings.conditions.clone()),
            _ => None,
        };
        match timeout(PATIENCE, hand.carry_out(action)).await {
            Ok(done) => done.map_err(|it| it.of(&words))?,
            Err(_) => return Err(Failure::TimedOut { action: words }),
        }
        if let Some(conditions) = said {
            debug!(worker = %instance, "{words}");
            announce(instance, &known, &conditions);
            known = conditions;
        } else {
            info!(worker = %instance, "{words}");
        }
    }
    Ok(())
}

/// Says in the log what is new in the conditions.
fn announce(instance: &InstanceId, before: &[Condition], after: &[Condition]) {
    let is_new = |it: &&Condition| {
        let known = before.iter().find(|before| before.type_ == it.type_);
        known.is_none_or(|before| before.reason != it.reason)
    };
    for condition in after.iter().filter(is_new) {
        let (kind, reason, message) = (&condition.type_, &condition.reason, &condition.message);
        if ALARMS.contains(&reason.as_str()) {
            warn!(worker = %instance, condition = kind, reason, "{message}");
        } else if condition.status == "True" {
            info!(worker = %instance, condition = kind, reason, "{message}");
        } else {
            debug!(worker = %instance, condition = kind, reason, "{message}");
        }
    }
}

/// What is done, for the log and for errors.
fn words(action: &Action) -> String {
    match action {
        Action::Save(_) => "save the status".to_owned(),
        Action::LabelKey { name, .. } => format!("assign the key `{name}`"),
        Action::GiveUpKey { name } => format!("give up the key `{name}`"),
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
