//! Which certificate request is approved: the first one of an instance, for its own name and the very key that it claimed.
//!
//! All others are ignored and never denied, for others may have reasons to approve them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::X509Name;

use super::status::Kind;
use super::{Action, Draft};
use crate::names::TOKEN_GROUP;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const USER: &str = "system:bootstrap:";
const NODE_USER: &str = "system:node:";
const NODES: &str = "system:nodes";

/// Why a request is not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is for another signer")]
    Signer,
    #[error("it was not made with the instance's token")]
    Requester,
    #[error("its usages are not those of a kubelet's client certificate")]
    Usages,
    #[error("it is no PKCS#10 request in PEM")]
    Unreadable,
    #[error("it asks for more than a subject")]
    Attributes,
    #[error("its subject is not the instance's")]
    Subject,
    #[error("its key is not the one that the instance claimed")]
    Key,
    #[error("its signature is wrong")]
    Signature,
}

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
            return draft.act(Action::Approve { name, resource_version });
        }
    }
}

fn requested_with(request: &CertificateSigningRequest, token: &str) -> bool {
    let user = request.spec.username.as_deref();
    user.and_then(|it| it.strip_prefix(USER)) == Some(token)
}

/// Holds a request against what is known of the instance.
pub(super) fn verify(
    request: &CertificateSigningRequest,
    instance: &InstanceId,
    token: &str,
    kubelet_key: &str,
) -> Result<(), Refusal> {
    let spec = &request.spec;
    let groups = spec.groups.as_deref().unwrap_or_default();
    ensure(spec.signer_name == SIGNER, Refusal::Signer)?;
    ensure(
        requested_with(request, token) && groups.iter().any(|it| it == TOKEN_GROUP),
        Refusal::Requester,
    )?;
    ensure(usages_fit(spec.usages.as_deref().unwrap_or_default()), Refusal::Usages)?;
    let der = der(request).ok_or(Refusal::Unreadable)?;
    let (rest, parsed) = X509CertificationRequest::from_der(&der).map_err(|_| Refusal::Unreadable)?;
    ensure(rest.is_empty(), Refusal::Unreadable)?;
    let info = &parsed.certification_request_info;
    // Whatever is asked beside the subject, alternative names above all, would be an attribute.
    ensure(info.attributes().is_empty(), Refusal::Attributes)?;
    ensure(
        subject(&info.subject).as_deref() == Some(instance.as_str()),
        Refusal::Subject,
    )?;
    let hash = ring::digest::digest(&ring::digest::SHA256, info.subject_pki.raw);
    ensure(BASE64_STANDARD.encode(hash) == kubelet_key, Refusal::Key)?;
    parsed.verify_signature().map_err(|_| Refusal::Signature)
}

/// The instance that a request of a kubelet names; nothing is proven by it.
pub(crate) fn instance_of(request: &CertificateSigningRequest) -> Option<InstanceId> {
    let der = der(request)?;
    let (_, parsed) = X509CertificationRequest::from_der(&der).ok()?;
    subject(&parsed.certification_request_info.subject)?.parse().ok()
}

fn der(request: &CertificateSigningRequest) -> Option<Vec<u8>> {
    let (rest, pem) = parse_x509_pem(&request.spec.request.0).ok()?;
    let alone = rest.iter().all(u8::is_ascii_whitespace);
    (alone && pem.label == "CERTIFICATE REQUEST").then_some(pem.contents)
}

/// `X` of exactly the subject `O=system:nodes, CN=system:node:X`.
fn subject(name: &X509Name<'_>) -> Option<String> {
    let mut common_name = None;
    let mut organization = None;
    for attribute in name.iter_attributes() {
        let oid = attribute.attr_type();
        let slot = if *oid == OID_X509_COMMON_NAME {
            &mut common_name
        } else if *oid == OID_X509_ORGANIZATION_NAME {
            &mut organization
        } else {
            return None;
        };
        if slot.replace(attribute.as_str().ok()?).is_some() {
            return None;
        }
    }
    (organization? == NODES).then_some(())?;
    common_name?.strip_prefix(NODE_USER).map(str::to_owned)
}

fn usages_fit(usages: &[String]) -> bool {
    let given: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    let required = BTreeSet::from(["client auth", "digital signature"]);
    let allowed = BTreeSet::from(["client auth", "digital signature", "key encipherment"]);
    given.len() == usages.len() && given.is_superset(&required) && given.is_subset(&allowed)
}

fn ensure(holds: bool, refusal: Refusal) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(refusal) }
}
