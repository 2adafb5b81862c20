//! The calls to the API server, one for each action.

use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Error, ResourceExt as _};
use serde_json::{Value, json};

use super::failure::Cause;
use crate::names::{INSTANCE_LABEL, RETIRED_LABEL, TOKEN_NAMESPACE};
use crate::reconcile::decide::{Action, Findings};
use crate::reconcile::{draw, render};
use crate::worker::{Token, Worker};

/// Acts for one Worker, during one pass.
pub(super) struct Hand {
    workers: Api<Worker>,
    secrets: Api<Secret>,
    tokens: Api<Secret>,
    nodes: Api<Node>,
    requests: Api<CertificateSigningRequest>,
    instance: InstanceId,
    uid: String,
    /// Of the Worker as it was seen or as we wrote it last.
    resource_version: Option<String>,
    /// The join Secret, if this pass wrote it.
    join: Option<Secret>,
}

impl Hand {
    pub(super) fn new(client: &Client, namespace: &str, worker: &Worker, instance: InstanceId) -> Self {
        Self {
            workers: Api::namespaced(client.clone(), namespace),
            secrets: Api::namespaced(client.clone(), namespace),
            tokens: Api::namespaced(client.clone(), TOKEN_NAMESPACE),
            nodes: Api::all(client.clone()),
            requests: Api::all(client.clone()),
            uid: worker.uid().unwrap_or_default(),
            resource_version: worker.resource_version(),
            instance,
            join: None,
        }
    }

    pub(super) async fn carry_out(&mut self, action: Action) -> Result<(), Cause> {
        let instance = self.instance.clone();
        let name = instance.as_str();
        match action {
            Action::Save(findings) => self.save(&findings).await?,
            Action::LabelKey {
                name: key,
                resource_version,
            } => self.label(&key, name, &resource_version).await?,
            Action::GiveUpKey { name: key } => self.give_up(&key).await?,
            Action::Quarantine {
                name: key,
                resource_version,
            } => {
                let patch = render::quarantine(&instance, &resource_version);
                merge(&self.secrets, &key, patch).await?;
            }
            Action::FreeKey {
                name: key,
                resource_version,
            } => self.free(&key, &resource_version).await?,
            Action::WriteJoin {
                id,
                generation,
                expires,
                replaces,
            } => {
                self.write_join(
                    &Token {
                        id,
                        generation,
                        expires,
                    },
                    replaces,
                )
                .await?;
            }
            Action::CreateToken { .. } => self.create_token().await?,
            Action::DeleteToken { id } => {
                delete(&self.tokens, &render::token_name(&id), DeleteParams::default()).await?;
            }
            Action::DeleteJoin { resource_version } => {
                delete(&self.secrets, name, only_if(None, Some(resource_version))).await?;
            }
            Action::Approve {
                name,
                resource_version,
                purpose,
            } => {
                let patch = Patch::Merge(render::approval(&instance, purpose, &resource_version));
                self.requests
                    .patch_approval(&name, &PatchParams::default(), &patch)
                    .await?;
            }
            Action::PatchNode {
                resource_version,
                labels,
                taints,
            } => {
                let patch = render::node_patch(&labels, taints.as_deref(), &resource_version);
                merge(&self.nodes, name, patch).await?;
            }
            Action::DeleteNode { uid } => delete(&self.nodes, name, only_if(Some(uid), None)).await?,
            Action::DeleteWorker => {
                let as_seen = only_if(Some(self.uid.clone()), self.resource_version.clone());
                delete(&self.workers, name, as_seen).await?;
            }
        }
        Ok(())
    }

    async fn save(&mut self, findings: &Findings) -> Result<(), Error> {
        let patch = json!({"metadata": {"resourceVersion": self.resource_version}, "status": findings});
        let name = self.instance.as_str();
        let saved = self
            .workers
            .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        self.resource_version = saved.resource_version();
        Ok(())
    }

    async fn label(&self, key: &str, value: &str, resource_version: &str) -> Result<(), Error> {
        merge(&self.secrets, key, render::key_label(value, resource_version)).await
    }

    /// Frees a key, or removes it if it was retired while it was in use.
    async fn free(&self, key: &str, resource_version: &str) -> Result<(), Error> {
        let patch = Patch::Merge(render::key_label("", resource_version));
        let freed = self
            .secrets
            .patch_metadata(key, &PatchParams::default(), &patch)
            .await?;
        if !freed.labels().contains_key(RETIRED_LABEL) {
            return Ok(());
        }
        match delete(&self.secrets, key, only_if(freed.uid(), freed.resource_version())).await {
            // Somebody has it again: it is removed when he is gone.
            Err(Error::Api(status)) if status.is_conflict() => Ok(()),
            other => other,
        }
    }

    async fn give_up(&self, key: &str) -> Result<(), Cause> {
        let Some(key) = self.secrets.get_metadata_opt(key).await? else {
            return Ok(());
        };
        match key.labels().get(INSTANCE_LABEL) {
            Some(holder) if holder.is_empty() || holder == self.instance.as_str() => Err(Cause::KeyNotLost),
            _ => Ok(()),
        }
    }

    async fn write_join(&mut self, token: &Token, replaces: Option<String>) -> Result<(), Error> {
        let update = replaces.is_some();
        let secret = render::join_secret(&self.instance, &self.uid, token, &draw::token_secret(), replaces);
        let parameters = PostParams::default();
        let written = if update {
            self.secrets
                .replace(self.instance.as_str(), &parameters, &secret)
                .await?
        } else {
            self.secrets.create(&parameters, &secret).await?
        };
        self.join = Some(written);
        Ok(())
    }

    /// What is there already is what an earlier pass made.
    async fn create_token(&self) -> Result<(), Cause> {
        let join = match &self.join {
            Some(join) => join.clone(),
            None => self.secrets.get(self.instance.as_str()).await?,
        };
        let token = render::token_secret(&self.instance, &join).ok_or(Cause::NoToken)?;
        match self.tokens.create(&PostParams::default(), &token).await {
            Err(Error::Api(status)) if status.is_already_exists() => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }
}

async fn merge<K>(api: &Api<K>, name: &str, patch: Value) -> Result<(), Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// What is gone already is as it should be.
async fn delete<K>(api: &Api<K>, name: &str, parameters: DeleteParams) -> Result<(), Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    match api.delete(name, &parameters).await {
        Err(Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(|_| ()),
    }
}

fn only_if(uid: Option<String>, resource_version: Option<String>) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions { resource_version, uid })
}

#[cfg(test)]
mod tests;
