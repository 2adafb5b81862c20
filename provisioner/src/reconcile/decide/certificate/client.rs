//! The client certificate of a kubelet: only its first one, and only for the key that the instance claimed.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::request::{Purpose, Refusal, ensure, fits};
use crate::names::TOKEN_GROUP;
use crate::reconcile::decide::status::Kind;
use crate::reconcile::decide::{Action, Draft};

const USER: &str = "system:bootstrap:";

/// Approves the instance's request, once it has asked with the right one.
pub(super) fn approve(draft: &mut Draft<'_>) {
    // A token that this very pass has replaced counts no more, one that it makes nobody can have used.
    let token = draft
        .status
        .token
        .as_ref()
        .filter(|it| draft.findings.token.as_ref() == Some(it));
    let (Some(claim), Some(token), true) = (&draft.status.claim, token, draft.hands_out()) else {
        return;
    };
    if draft.findings.joined.is_some() {
        return;
    }
    let own = draft
        .case
        .observed
        .requests
        .iter()
        .filter(|it| requested_with(it, &token.id));
    for request in own {
        let name = request.metadata.name.clone().unwrap_or_default();
        if draft.case.observed.node.is_some() {
            let message = format!("ignored `{name}`: the Node is there already");
            draft.say(Kind::CertificateApproved, false, "NodeExists", message);
        } else if let Err(refusal) = verify(request, draft.case.instance, &token.id, &claim.kubelet_key) {
            draft.say(
                Kind::CertificateApproved,
                false,
                "Ignored",
                format!("ignored `{name}`: {refusal}"),
            );
        } else if let Some(resource_version) = request.metadata.resource_version.clone() {
            draft.say(
                Kind::CertificateApproved,
                true,
                "Approved",
                format!("approved `{name}`"),
            );
            return draft.act(Action::Approve {
                name,
                resource_version,
                purpose: Purpose::Client,
            });
        }
    }
}

fn requested_with(request: &CertificateSigningRequest, token: &str) -> bool {
    let user = request.spec.username.as_deref();
    user.and_then(|it| it.strip_prefix(USER)) == Some(token)
}

/// Holds a request against what is known of the instance.
fn verify(
    request: &CertificateSigningRequest,
    instance: &InstanceId,
    token: &str,
    kubelet_key: &str,
) -> Result<(), Refusal> {
    let groups = request.spec.groups.as_deref().unwrap_or_default();
    let ours = requested_with(request, token) && groups.iter().any(|it| it == TOKEN_GROUP);
    ensure(ours, Refusal::Requester)?;
    fits(request, Purpose::Client)?;
    super::request::verify(request, instance, |info| {
        // Whatever is asked beside the subject, alternative names above all, would be an attribute.
        ensure(info.attributes().is_empty(), Refusal::Attributes)?;
        let hash = ring::digest::digest(&ring::digest::SHA256, info.subject_pki.raw);
        ensure(BASE64_STANDARD.encode(hash) == kubelet_key, Refusal::Key)
    })
}
