//! What must be true of the cluster before tokens are made in it.

use anyhow::{Context as _, bail};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::api_server::Fault;
use crate::names::TOKEN_GROUP;

/// The group that the bearer of any bootstrap token is in.
const ALL_TOKENS: &str = "system:bootstrappers";

/// The group that whoever is somebody is in.
const EVERYBODY: &str = "system:authenticated";

/// Refuses a cluster that approves the certificate requests of our tokens by itself: any of them could become any node.
pub(super) async fn no_automatic_approval(client: &Client) -> anyhow::Result<()> {
    if let Some(reason) = automatic_approval(client).await? {
        bail!(
            "the cluster approves certificate requests of group `{TOKEN_GROUP}`, `{ALL_TOKENS}` or `{EVERYBODY}` automatically, \
             so that any token could become any node ({reason}); remove that group from the binding, or bind \
             `system:bootstrappers:kubeadm:default-node-token` in its place"
        );
    }
    Ok(())
}

/// Why the cluster approves the certificate requests of our tokens by itself, if it does.
pub(crate) async fn automatic_approval(client: &Client) -> anyhow::Result<Option<String>> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = reviews
        .create(&PostParams::default(), &question())
        .await
        .map_err(Fault)
        .context("failed to ask whether certificate requests of our tokens are approved automatically")?;
    let status = answer.status.unwrap_or_default();
    Ok(status.allowed.then(|| status.reason.unwrap_or_default()))
}

fn question() -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some("system:bootstrap:dynk8s".to_owned()),
            groups: Some([TOKEN_GROUP, ALL_TOKENS, EVERYBODY].map(str::to_owned).to_vec()),
            resource_attributes: Some(ResourceAttributes {
                group: Some("certificates.k8s.io".to_owned()),
                resource: Some("certificatesigningrequests".to_owned()),
                subresource: Some("nodeclient".to_owned()),
                verb: Some("create".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
