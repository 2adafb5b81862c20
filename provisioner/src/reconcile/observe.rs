//! Gathers what concerns one instance from what is watched.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, ResourceExt as _};

use super::decide::{self, Agreement, Join, Keys, Observed, instance_of};
use super::watch::Stores;
use crate::config::Config;
use crate::names::NODE_LEASE_NAMESPACE;
use crate::resync::Done;
use crate::worker::Worker;

pub(super) fn observe(
    stores: &Stores,
    config: &Config,
    resynced: &Done,
    worker: &Worker,
    instance: &InstanceId,
) -> Observed {
    let name = instance.as_str();
    let nodes = stores.nodes.state();
    let join = ObjectRef::new(name).within(&worker.namespace().unwrap_or_default());
    Observed {
        keys: keys(stores, config, worker, &nodes, name),
        unsettled: config.aws.is_some() && !resynced.settles(agreement(stores)),
        join: stores.joins.get(&join).and_then(|it| Join::of(&it)),
        node: stores.nodes.get(&ObjectRef::new(name)).map(|it| Node::clone(&it)),
        pulse: None,
        requests: requests(stores, instance),
        seen: None,
    }
}

fn keys(stores: &Stores, config: &Config, worker: &Worker, nodes: &[Arc<Node>], instance: &str) -> Keys {
    let secrets = stores.keys.state();
    let nodes: Vec<&Node> = nodes.iter().map(AsRef::as_ref).collect();
    let others = || {
        let workers = stores.workers.state();
        let others = workers
            .iter()
            .filter(|it| it.metadata.name.as_deref() != Some(instance));
        others
            .filter_map(|it| it.status.as_ref()?.key.clone())
            .collect::<BTreeSet<String>>()
    };
    let pool = config.pool_of(worker);
    let chosen = worker.status.as_ref().and_then(|it| it.key.as_deref());
    Keys::of(
        secrets.iter().map(AsRef::as_ref),
        &mut stores.documents.lock().unwrap_or_else(PoisonError::into_inner),
        &nodes,
        instance,
        &pool,
        chosen,
        others,
    )
}

fn agreement(stores: &Stores) -> Agreement {
    let (keys, workers) = (stores.keys.state(), stores.workers.state());
    decide::agreement(keys.iter().map(AsRef::as_ref), workers.iter().map(AsRef::as_ref))
}

/// The resource version of a Node's Lease; `None` if it has none.
pub(super) async fn lease(client: &Client, node: &str) -> kube::Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NODE_LEASE_NAMESPACE);
    let lease = leases.get_metadata_opt(node).await?;
    Ok(lease.and_then(|it| it.metadata.resource_version))
}

fn requests(stores: &Stores, instance: &InstanceId) -> Vec<CertificateSigningRequest> {
    let undecided = |request: &CertificateSigningRequest| {
        let status = request.status.as_ref();
        status.is_none_or(|it| it.certificate.is_none() && it.conditions.as_ref().is_none_or(Vec::is_empty))
    };
    let all = [stores.requests.state(), stores.serving.state()];
    let own = all
        .iter()
        .flatten()
        .filter(|it| undecided(it) && instance_of(it).as_ref() == Some(instance));
    own.map(|it| CertificateSigningRequest::clone(it)).collect()
}
