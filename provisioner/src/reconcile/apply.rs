//! Carries a plan out, call by call, until one fails.

use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Error, ResourceExt as _};
use serde_json::{Value, json};
use tracing::info;

use super::decide::{Action, Findings};
use super::{draw, render};
use crate::names::{INSTANCE_LABEL, TOKEN_NAMESPACE};
use crate::worker::{Token, Worker};

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{object} has changed while it was being looked at")]
    Changed { object: String },
    #[error("failed to {action}")]
    Refused { action: String, source: Box<Error> },
    #[error("the join Secret holds no token")]
    NoToken,
    #[error("a watch has ended")]
    WatchEnded,
}

/// Carries actions out for a Worker, in order.
pub(super) async fn apply(
    client: &Client,
    namespace: &str,
    worker: &Worker,
    actions: Vec<Action>,
) -> Result<(), Failure> {
    let name = worker.name_any();
    let Ok(instance) = name.parse() else { return Ok(()) };
    let mut hand = Hand {
        workers: Api::namespaced(client.clone(), namespace),
        secrets: Api::namespaced(client.clone(), namespace),
        tokens: Api::namespaced(client.clone(), TOKEN_NAMESPACE),
        nodes: Api::all(client.clone()),
        requests: Api::all(client.clone()),
        uid: worker.uid().unwrap_or_default(),
        resource_version: worker.resource_version(),
        instance,
        join: None,
    };
    for action in actions {
        let words = words(&action);
        let result = hand.carry_out(action).await.map_err(|it| it.of(&words));
        if result.is_ok() {
            info!(worker = name, "{words}");
        }
        result?;
    }
    Ok(())
}

struct Hand {
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

/// A failure that does not know yet what was being done.
enum Cause {
    Api(Error),
    NoToken,
    KeyNotLost,
}

impl From<Error> for Cause {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

impl Cause {
    fn of(self, action: &str) -> Failure {
        match self {
            Self::NoToken => Failure::NoToken,
            Self::KeyNotLost => Failure::Changed {
                object: "the chosen key".to_owned(),
            },
            Self::Api(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Failure::Changed {
                object: status
                    .details
                    .as_ref()
                    .map_or_else(|| action.to_owned(), |it| format!("{} `{}`", it.kind, it.name)),
            },
            Self::Api(source) => Failure::Refused {
                action: action.to_owned(),
                source: Box::new(source),
            },
        }
    }
}

impl Hand {
    async fn carry_out(&mut self, action: Action) -> Result<(), Cause> {
        let instance = self.instance.clone();
        let name = instance.as_str();
        match action {
            Action::Save(findings) => self.save(&findings).await?,
            Action::LabelKey {
                name: key,
                resource_version,
            } => self.label(&key, name, &resource_version).await?,
            Action::GiveUpKey { name: key } => self.give_up(&key).await?,
            Action::FreeKey {
                name: key,
                resource_version,
            } => self.label(&key, "", &resource_version).await?,
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
            Action::Approve { name, resource_version } => {
                let patch = Patch::Merge(render::approval(&instance, &resource_version));
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
