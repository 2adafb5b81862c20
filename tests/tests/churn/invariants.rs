//! What must be true at any time, and when all has come to rest.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::api::{NODES, SECRETS, TOKENS, WORKERS};
use crate::instances::{Instances, KEYS, LABEL};

const KEY_TYPE: &str = "?fieldSelector=type%3Ddynk8s.du5t1n.me%2Fwireguard-key";
const JOIN_TYPE: &str = "?fieldSelector=type%3Ddynk8s.du5t1n.me%2Fjoin";
const TOKEN_TYPE: &str = "?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";
const QUARANTINE: &str = "dynk8s.du5t1n.me/quarantined";

impl Instances {
    /// Who has each key; one in quarantine has nobody.
    async fn holders(&self) -> anyhow::Result<BTreeMap<String, Option<String>>> {
        let keys = self.api.list(&format!("{SECRETS}{KEY_TYPE}")).await?;
        ensure!(keys.len() == usize::from(KEYS), "{} keys are there", keys.len());
        let holder = |key: &Value| {
            let labels = &key["metadata"]["labels"];
            if labels[QUARANTINE].is_string() {
                return Ok((name(key).to_owned(), None));
            }
            let holder = labels[LABEL]
                .as_str()
                .with_context(|| format!("`{}` is lost", name(key)))?;
            Ok((name(key).to_owned(), Some(holder.to_owned())))
        };
        keys.iter().map(holder).collect()
    }

    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        let holders = self.holders().await?;
        for (name, instance) in self.all.iter().filter(|(_, it)| it.died.is_none()) {
            for key in &instance.keys {
                let kept = match &holders[key] {
                    Some(holder) => holder == name,
                    None => instance.contested,
                };
                ensure!(kept, "{name} uses `{key}`, which is {:?}'s: {instance:?}", holders[key]);
            }
            let held = holders.values().flatten().filter(|it| *it == name).count();
            ensure!(held <= 1 || instance.disturbed, "{name} has {held} keys: {instance:?}");
        }
        Ok(())
    }

    /// Whether nothing is left to do, and nothing is left of the dead.
    pub(crate) async fn rest(&self) -> anyhow::Result<()> {
        for (key, holder) in self.holders().await? {
            let holder = holder.unwrap_or_default();
            ensure!(
                holder.is_empty() || self.lives(&holder),
                "`{key}` is {holder}'s, which is dead"
            );
        }
        let workers = self.api.list(WORKERS).await?;
        let joins = self.api.list(&format!("{SECRETS}{JOIN_TYPE}")).await?;
        for join in &joins {
            ensure!(self.lives(name(join)), "{} left a join Secret", name(join));
        }
        for node in self.api.list(NODES).await? {
            ensure!(self.lives(name(&node)), "{} left a Node", name(&node));
        }
        for token in self.api.list(&format!("{TOKENS}{TOKEN_TYPE}")).await? {
            let instance = token["metadata"]["labels"][LABEL].as_str().context("a foreign token")?;
            let id = name(&token).trim_start_matches("bootstrap-token-");
            // Whose Worker was deleted has forgotten what to delete again: there it expires.
            if self.all.get(instance).is_some_and(|it| it.disturbed) {
                continue;
            }
            let worker = workers.iter().find(|it| name(it) == instance);
            let shown = worker.and_then(|it| it["status"]["token"]["id"].as_str());
            let join = joins.iter().find(|it| name(it) == instance);
            let kept = join.and_then(|it| it["data"]["token-id"].as_str());
            let is_known = shown == Some(id) || kept == Some(&BASE64_STANDARD.encode(id));
            ensure!(is_known, "{instance} has the token `{id}` and shows {shown:?}");
        }
        for worker in &workers {
            let phase = worker["status"]["phase"].as_str();
            let lives = self.lives(name(worker));
            ensure!(lives || phase == Some("Gone"), "{} is dead and {phase:?}", name(worker));
            let is_served = worker["status"]["claim"].is_null() || worker["status"]["key"].is_string();
            let knows_why = ["Failed", "Stopped"].map(Some).contains(&phase);
            ensure!(
                !lives || is_served || knows_why,
                "{} has no key: {}",
                name(worker),
                worker["status"]
            );
        }
        Ok(())
    }

    fn lives(&self, instance: &str) -> bool {
        self.all.get(instance).is_some_and(|it| it.died.is_none())
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
