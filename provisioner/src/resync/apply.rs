//! Writes down what EC2 said.

use std::time::Duration;

use anyhow::Context as _;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api_server::Fault;
use crate::worker::{Described, Wish, Worker};

/// How long the API server may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

const FIELD_MANAGER: &str = "dynk8s-resync";

pub(super) async fn describe(api: &Api<Worker>, instance: &str, described: &Described) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "status": { "described": whole(described) } }));
    let parameters = PatchParams::apply(FIELD_MANAGER);
    settle(timeout(PATIENCE, api.patch_status(instance, &parameters, &patch)).await)
}

/// Wishes an instance gone. There is no way back, so this needs no guard.
pub(super) async fn bury(api: &Api<Worker>, instance: &str) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "spec": { "wished": Wish::Gone } }));
    let parameters = PatchParams::apply(FIELD_MANAGER);
    settle(timeout(PATIENCE, api.patch(instance, &parameters, &patch)).await)
}

/// As a merge patch that leaves nothing of what was described before.
fn whole(described: &Described) -> Value {
    let mut patch = json!({ "autoScalingGroup": null, "tags": null, "template": null });
    if let (Value::Object(patch), Ok(Value::Object(fields))) = (&mut patch, serde_json::to_value(described)) {
        patch.extend(fields);
    }
    patch
}

/// A Worker that is not there any more needs nothing.
fn settle(done: Result<kube::Result<Worker>, tokio::time::error::Elapsed>) -> anyhow::Result<()> {
    match done {
        Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
        Ok(done) => done
            .map(drop)
            .map_err(Fault)
            .context("failed to write what EC2 says of an instance"),
        Err(_) => anyhow::bail!("failed to write what EC2 says of an instance: the API server does not answer"),
    }
}
