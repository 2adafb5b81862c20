//! Takes away the Nodes that nobody answers for, once a minute.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Preconditions};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::decide::stray;
use super::watch::Stores;
use crate::api_server::fault::told;

const EVERY: Duration = Duration::from_mins(1);
/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sweeps until it is dropped, while this replica acts. The lists must be complete.
pub(super) async fn sweep(client: &Client, namespace: &str, stores: &Stores, acts: impl Fn() -> bool) {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut rounds = interval(EVERY);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        if !acts() {
            continue;
        }
        for node in stores.nodes.state() {
            let has_worker = |it: &dynk8s_api::InstanceId| {
                let worker = ObjectRef::new(it.as_str()).within(namespace);
                stores.workers.get(&worker).is_some()
            };
            let Some((instance, uid)) = stray(&node, has_worker, Timestamp::now()) else {
                continue;
            };
            let only_this = DeleteParams::default().preconditions(Preconditions {
                uid: Some(uid),
                resource_version: node.metadata.resource_version.clone(),
            });
            let name = instance.as_str();
            match timeout(PATIENCE, nodes.delete(name, &only_this)).await {
                Ok(Ok(_)) => warn!(instance = name, "deleted a Node that keeps pods away and has no Worker"),
                Ok(Err(error)) => warn!(
                    instance = name,
                    "failed to delete a Node that has no Worker: {}",
                    told(&error)
                ),
                Err(_) => warn!(
                    instance = name,
                    "failed to delete a Node that has no Worker within {PATIENCE:?}"
                ),
            }
        }
    }
}
