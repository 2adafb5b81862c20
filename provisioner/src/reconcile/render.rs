//! The objects that are written, to the letter.

use std::collections::BTreeMap;

use dynk8s_api::{InstanceId, Secret as Hidden};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::decide::Purpose;
use crate::names::{
    INSTANCE_LABEL, JOIN_FIELDS, JOIN_TYPE, QUARANTINE_LABEL, TOKEN_GROUP, TOKEN_NAMESPACE, TOKEN_TYPE,
};
use crate::worker::{API_VERSION, KIND, Token};

/// The description of our tokens, which an admission policy compares.
pub(super) const TOKEN_DESCRIPTION: &str = "dynk8s: one instance, one join";

/// The name of a token's Secret.
pub(super) fn token_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

/// The Secret that a token is kept in. It goes with its Worker.
pub(super) fn join_secret(
    instance: &InstanceId,
    worker_uid: &str,
    token: &Token,
    secret: &Hidden,
    replaces: Option<String>,
) -> Secret {
    let [id, secret_half, generation, expiration] = JOIN_FIELDS;
    let owner = OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: instance.to_string(),
        uid: worker_uid.to_owned(),
        ..OwnerReference::default()
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(instance.to_string()),
            labels: Some(label(instance)),
            owner_references: Some(vec![owner]),
            resource_version: replaces,
            ..ObjectMeta::default()
        },
        type_: Some(JOIN_TYPE.to_owned()),
        data: Some(data([
            (id, token.id.as_str()),
            (secret_half, secret.expose()),
            (generation, token.generation.to_string().as_str()),
            (expiration, time(token.expires).as_str()),
        ])),
        ..Secret::default()
    }
}

/// The bootstrap token that a join Secret holds; `None` if it holds none.
///
/// It may authenticate and nothing else, in a group of our own that nobody approves certificates for automatically.
pub(super) fn token_secret(instance: &InstanceId, join: &Secret) -> Option<Secret> {
    let [id, secret_half, _, expiration] =
        JOIN_FIELDS.map(|field| std::str::from_utf8(&join.data.as_ref()?.get(field)?.0).ok());
    Some(Secret {
        metadata: ObjectMeta {
            name: Some(token_name(id?)),
            namespace: Some(TOKEN_NAMESPACE.to_owned()),
            labels: Some(label(instance)),
            ..ObjectMeta::default()
        },
        type_: Some(TOKEN_TYPE.to_owned()),
        data: Some(data([
            ("token-id", id?),
            ("token-secret", secret_half?),
            ("expiration", expiration?),
            ("usage-bootstrap-authentication", "true"),
            ("auth-extra-groups", TOKEN_GROUP),
            ("description", TOKEN_DESCRIPTION),
        ])),
        ..Secret::default()
    })
}

/// The value of a key's label, if the key is as it was seen.
pub(super) fn key_label(value: &str, resource_version: &str) -> Value {
    json!({"metadata": {"resourceVersion": resource_version, "labels": {INSTANCE_LABEL: value}}})
}

/// A key out of use: no instance's, and not free.
pub(super) fn quarantine(instance: &InstanceId, resource_version: &str) -> Value {
    let labels = json!({INSTANCE_LABEL: null, QUARANTINE_LABEL: instance});
    json!({"metadata": {"resourceVersion": resource_version, "labels": labels}})
}

/// The approval of a request, if it is as it was seen.
pub(super) fn approval(instance: &InstanceId, purpose: Purpose, resource_version: &str) -> Value {
    let (reason, message) = match purpose {
        Purpose::Client => (
            "Dynk8sClaimed",
            format!("the instance {instance} claimed this key and asked with its own token"),
        ),
        Purpose::Serving => (
            "Dynk8sServing",
            format!("the node {instance} asked for its own name and tunnel addresses"),
        ),
    };
    let condition = json!({
        "type": "Approved",
        "status": "True",
        "reason": reason,
        "message": message,
    });
    json!({"metadata": {"resourceVersion": resource_version}, "status": {"conditions": [condition]}})
}

/// Labels and taints of a Node, if it is as it was seen.
pub(super) fn node_patch(labels: &BTreeMap<String, String>, taints: Option<&[Taint]>, resource_version: &str) -> Value {
    let mut patch = json!({"metadata": {"resourceVersion": resource_version, "labels": labels}});
    if let Some(taints) = taints {
        patch["spec"] = json!({"taints": taints});
    }
    patch
}

fn label(instance: &InstanceId) -> BTreeMap<String, String> {
    BTreeMap::from([(INSTANCE_LABEL.to_owned(), instance.to_string())])
}

fn data<const N: usize>(fields: [(&str, &str); N]) -> BTreeMap<String, ByteString> {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), ByteString(value.as_bytes().to_vec())))
        .collect()
}

/// RFC 3339 in whole seconds, as the token cleaner reads it.
fn time(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join() -> Secret {
        let token = Token {
            id: "abcdef".to_owned(),
            generation: 2,
            expires: "2026-12-02T03:04:05Z".parse().unwrap(),
        };
        let secret = Hidden::new("0123456789abcdef".to_owned());
        join_secret(
            &"i-0123abcd".parse().unwrap(),
            "uid",
            &token,
            &secret,
            Some("7".to_owned()),
        )
    }

    #[test]
    fn a_join_secret_belongs_to_its_worker() {
        let secret = serde_json::to_value(join()).unwrap();
        assert_eq!(secret["metadata"]["name"], "i-0123abcd");
        assert_eq!(secret["metadata"]["resourceVersion"], "7");
        let owner = &secret["metadata"]["ownerReferences"][0];
        assert_eq!(owner["apiVersion"], "dynk8s.du5t1n.me/v1alpha1");
        assert_eq!(owner["kind"], "Worker");
    }

    #[test]
    fn a_token_may_only_authenticate_into_our_group() {
        let token = token_secret(&"i-0123abcd".parse().unwrap(), &join()).unwrap();
        assert_eq!(token.metadata.name.as_deref(), Some("bootstrap-token-abcdef"));
        let fields: BTreeMap<String, String> = token
            .data
            .unwrap()
            .into_iter()
            .map(|(name, value)| (name, String::from_utf8(value.0).unwrap()))
            .collect();
        let expected = [
            ("auth-extra-groups", "system:bootstrappers:dynk8s:node"),
            ("description", TOKEN_DESCRIPTION),
            ("expiration", "2026-12-02T03:04:05Z"),
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        assert_eq!(
            fields,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        );
    }

    #[test]
    fn a_patch_without_taints_leaves_them_alone() {
        assert!(node_patch(&BTreeMap::new(), None, "1").get("spec").is_none());
        assert_eq!(
            node_patch(&BTreeMap::new(), Some(&[]), "1")["spec"]["taints"],
            json!([])
        );
    }
}
