//! What a certificate request of a kubelet says, and why one is not approved.

use std::collections::BTreeSet;

use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use x509_parser::certification_request::{X509CertificationRequest, X509CertificationRequestInfo};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::X509Name;

pub(super) const NODE_USER: &str = "system:node:";
pub(super) const NODES: &str = "system:nodes";

/// What a certificate of a kubelet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To speak to the API server.
    Client,
    /// To be spoken to.
    Serving,
}

impl Purpose {
    /// Who signs it.
    pub(crate) const fn signer(self) -> &'static str {
        match self {
            Self::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Self::Serving => "kubernetes.io/kubelet-serving",
        }
    }

    /// What it must be good for; an RSA key may add `key encipherment`.
    fn usages(self) -> [&'static str; 2] {
        match self {
            Self::Client => ["client auth", "digital signature"],
            Self::Serving => ["digital signature", "server auth"],
        }
    }
}

/// Why a request is not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is for another signer")]
    Signer,
    #[error("it was not made with the instance's token")]
    Requester,
    #[error("it was not made by the node itself")]
    Node,
    #[error("its usages are not those of a kubelet's certificate of this kind")]
    Usages,
    #[error("it asks for a certificate of more than a year")]
    Validity,
    #[error("it is no PKCS#10 request in PEM")]
    Unreadable,
    #[error("it asks for more than a subject")]
    Attributes,
    #[error("its alternative names are not exactly the node's name and tunnel addresses of its key's document")]
    Names,
    #[error("its subject is not the instance's")]
    Subject,
    #[error("its key is not the one that the instance claimed")]
    Key,
    #[error("its signature is wrong")]
    Signature,
}

/// Holds signer and usages against the purpose.
pub(super) fn fits(request: &CertificateSigningRequest, purpose: Purpose) -> Result<(), Refusal> {
    ensure(request.spec.signer_name == purpose.signer(), Refusal::Signer)?;
    let usages = request.spec.usages.as_deref().unwrap_or_default();
    let given: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    let required = BTreeSet::from(purpose.usages());
    let more: Vec<&str> = given.difference(&required).copied().collect();
    let right =
        given.len() == usages.len() && given.is_superset(&required) && matches!(*more, [] | ["key encipherment"]);
    ensure(right, Refusal::Usages)
}

/// Holds the request itself against the instance: its subject, its signature, and whatever else `check` looks at.
pub(super) fn verify(
    request: &CertificateSigningRequest,
    instance: &InstanceId,
    check: impl FnOnce(&X509CertificationRequestInfo<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let der = der(request).ok_or(Refusal::Unreadable)?;
    let (rest, parsed) = X509CertificationRequest::from_der(&der).map_err(|_| Refusal::Unreadable)?;
    ensure(rest.is_empty(), Refusal::Unreadable)?;
    let info = &parsed.certification_request_info;
    let subject = subject(&info.subject);
    ensure(subject.as_deref() == Some(instance.as_str()), Refusal::Subject)?;
    check(info)?;
    parsed.verify_signature().map_err(|_| Refusal::Signature)
}

/// The instance that a request of a kubelet names; nothing is proven by it.
pub(crate) fn instance_of(request: &CertificateSigningRequest) -> Option<InstanceId> {
    let der = der(request)?;
    let (_, parsed) = X509CertificationRequest::from_der(&der).ok()?;
    subject(&parsed.certification_request_info.subject)?.parse().ok()
}

pub(super) fn ensure(holds: bool, refusal: Refusal) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(refusal) }
}

pub(super) fn der(request: &CertificateSigningRequest) -> Option<Vec<u8>> {
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
