//! Makes several Secrets, all or none.

use std::collections::BTreeMap;

use anyhow::anyhow;
use dynk8s_api::Secret as SecretText;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ObjectMeta, PostParams, Preconditions};

use crate::commands::cluster::{Cluster, ask};
use crate::names::{INSTANCE_LABEL, KEY_FIELD, KEY_TYPE};

/// A key that is to be.
#[derive(Debug)]
pub(super) struct NewKey {
    pub(super) name: String,
    pub(super) text: SecretText,
}

/// Makes them all. The API server is asked first whether it would; if it stops half-way, what was made is taken back, and
/// what could not be taken back is named.
pub(super) async fn create(cluster: &Cluster, keys: &[NewKey], labels: &[(String, String)]) -> anyhow::Result<()> {
    let secrets: Vec<Secret> = keys.iter().map(|it| secret(it, labels)).collect();
    for secret in &secrets {
        let rehearsal = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        write(cluster, secret, &rehearsal).await?;
    }
    let mut created = Vec::new();
    for secret in &secrets {
        match write(cluster, secret, &PostParams::default()).await {
            Ok(secret) => created.push(secret),
            Err(error) => {
                let left = take_back(cluster, &created, &secret.name_any()).await;
                return Err(error.context(left));
            }
        }
    }
    Ok(())
}

async fn write(cluster: &Cluster, secret: &Secret, parameters: &PostParams) -> anyhow::Result<Secret> {
    let what = format!("create Secret `{}`", secret.name_any());
    ask(what, cluster.secrets.create(parameters, secret)).await
}

/// Deletes what was made, unless it was handed out meanwhile, and says what is left.
async fn take_back(cluster: &Cluster, created: &[Secret], failed: &str) -> String {
    for secret in created {
        let as_made = DeleteParams::default().preconditions(Preconditions {
            resource_version: secret.resource_version(),
            uid: secret.uid(),
        });
        let name = secret.name_any();
        // Whether it is gone is looked at below.
        let _ = ask("take it back", cluster.secrets.delete(&name, &as_made)).await;
    }
    let mut left = Vec::new();
    for name in created.iter().map(Secret::name_any).chain([failed.to_owned()]) {
        match ask("look for it", cluster.secrets.get_metadata_opt(&name)).await {
            Ok(None) => {}
            Ok(Some(_)) => left.push(format!("`{name}`")),
            Err(_) => left.push(format!("perhaps `{name}`")),
        }
    }
    if left.is_empty() {
        "nothing is left of what was created".to_owned()
    } else {
        format!("these are left of what was created: {}", left.join(", "))
    }
}

fn secret(key: &NewKey, labels: &[(String, String)]) -> Secret {
    let free = (INSTANCE_LABEL.to_owned(), String::new());
    let labels: BTreeMap<String, String> = labels.iter().cloned().chain([free]).collect();
    let text = ByteString(key.text.expose().as_bytes().to_vec());
    Secret {
        type_: Some(KEY_TYPE.to_owned()),
        metadata: ObjectMeta {
            name: Some(key.name.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        data: Some([(KEY_FIELD.to_owned(), text)].into()),
        ..Secret::default()
    }
}

/// Everything that stands against something, in one error.
pub(super) fn refused(what: &str, refusals: &[String]) -> anyhow::Error {
    anyhow!("{what}:\n  {}", refusals.join("\n  "))
}
