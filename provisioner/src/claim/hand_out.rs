//! Waiting for what was promised, and reading it at the last moment.

use dynk8s_api::claim::{self, ClaimAnswer};
use dynk8s_api::problem::Reason;
use dynk8s_api::wireguard::Document;
use dynk8s_api::{InstanceId, Secret};
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use tracing::error;

use super::decide::{Material, material, why_not};
use super::render::node_settings;
use super::{Claims, unavailable};
use crate::config::Known;
use crate::names::{INSTANCE_LABEL, JOIN_FIELDS, JOIN_TYPE, KEY_FIELD, KEY_TYPE};
use crate::proof::Asked;
use crate::refusal::Refusal;
use crate::store::text;
use crate::worker::Worker;

impl Claims {
    pub(super) async fn hand_out(
        &self,
        id: &InstanceId,
        asked: &Asked,
        worker: &Worker,
        generation: u32,
    ) -> Result<ClaimAnswer, Refusal> {
        let config = self.config.get();
        let known = worker.status.as_ref().and_then(Known::of);
        let group = known.and_then(|it| config.eligibility(&it).group());
        let group = group.ok_or_else(|| {
            let text = "no node group takes the instance any more";
            (Reason::NotEligible, text.to_owned())
        })?;
        let found = self
            .view
            .wait(id, self.patience, |worker| {
                material(worker, asked, generation, Timestamp::now())
            })
            .await;
        let (key, token) = match found {
            Some(Material::There { key, token }) => (key, token),
            Some(Material::Refused(reason, text)) => return Err((reason, text).into()),
            None => return Err(why_not(self.view.worker(id).as_deref())),
        };
        Ok(ClaimAnswer {
            generation,
            wireguard: self.wireguard(id, &key).await?,
            token: self.token(id, &token, generation).await?,
            cluster: claim::Cluster {
                server: config.cluster.server(),
                ca: self.cluster.ca(&self.store).await.map_err(unavailable)?,
                version: self.cluster.version(&self.store).await.map_err(unavailable)?,
            },
            node: node_settings(group, worker.status.as_ref().and_then(|it| it.described.as_ref())),
        })
    }

    /// The WireGuard document, if the Secret is this instance's and the agent will understand it.
    async fn wireguard(&self, id: &InstanceId, name: &str) -> Result<Secret, Refusal> {
        let secret = self.store.secret(name).await.map_err(unavailable)?;
        let is_its = |it: &v1::Secret| {
            let holder = it.metadata.labels.as_ref().and_then(|it| it.get(INSTANCE_LABEL));
            it.type_.as_deref() == Some(KEY_TYPE) && holder.map(String::as_str) == Some(id.as_str())
        };
        let Some(secret) = secret.filter(is_its) else {
            error!(instance = %id, secret = name, "the key Secret does not name the instance");
            return Err(Refusal::new(Reason::NotYet, "the WireGuard key is being changed"));
        };
        let broken = |what: String| {
            error!(instance = %id, secret = name, what, "the key Secret is unusable");
            Refusal::new(Reason::Unavailable, "the WireGuard key is unusable")
                .because(format!("the Secret `{name}` is unusable: {what}"))
        };
        let document = text(&secret, KEY_FIELD).ok_or_else(|| broken(format!("it has no text in `{KEY_FIELD}`")))?;
        Document::parse(document.expose()).map_err(|error| broken(error.to_string()))?;
        Ok(document)
    }

    /// The bootstrap token, if it is the one that the Worker names.
    async fn token(&self, id: &InstanceId, token_id: &str, generation: u32) -> Result<Secret, Refusal> {
        let [id_field, secret_field, generation_field, _] = JOIN_FIELDS;
        let secret = self.store.secret(id.as_str()).await.map_err(unavailable)?;
        let token = secret
            .filter(|it| it.type_.as_deref() == Some(JOIN_TYPE))
            .and_then(|it| {
                let field = |name| text(&it, name);
                let fits = field(id_field)?.expose() == token_id
                    && field(generation_field)?.expose() == generation.to_string();
                let secret = field(secret_field)?;
                fits.then(|| Secret::new(format!("{token_id}.{}", secret.expose())))
            });
        token.ok_or_else(|| Refusal::new(Reason::NotYet, "the bootstrap token is being changed"))
    }
}
