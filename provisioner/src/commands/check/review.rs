//! Asks the API server what somebody may do.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;

use super::facts::Seen;
use super::shipped::Right;
use crate::commands::cluster::{Cluster, ask};

/// So many questions at a time.
const AT_ONCE: usize = 8;

/// Each right with the answer.
pub(super) async fn review(cluster: &Cluster, rights: Vec<Right>) -> Seen<Vec<(Right, bool)>> {
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client.clone());
    let one = async |right: Right| {
        let question = question(&right);
        let parameters = PostParams::default();
        let call = reviews.create(&parameters, &question);
        let answer = ask("ask what somebody may do", call).await?;
        anyhow::Ok((right, answer.status.is_some_and(|it| it.allowed)))
    };
    let answers = stream::iter(rights).map(one).buffered(AT_ONCE).try_collect();
    answers.await.map_err(|error| format!("{error:#}"))
}

fn question(right: &Right) -> SubjectAccessReview {
    let (user, groups) = right.who.identity();
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource.as_str(), None),
    };
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user),
            groups: Some(groups),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(right.verb.clone()),
                group: Some(right.group.clone()),
                resource: Some(resource.to_owned()),
                subresource,
                name: right.name.clone(),
                namespace: right.namespace.clone(),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
