//! The serving certificates of a kubelet, the first and its renewals: for the node's own name and its tunnel addresses.
//!
//! The addresses are those of its key's document. What the Node says of itself is a kubelet's word.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use dynk8s_api::InstanceId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use x509_parser::certification_request::X509CertificationRequestInfo;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};

use super::request::{NODE_USER, NODES, Purpose, Refusal, ensure, fits};
use crate::reconcile::decide::pool::Key;
use crate::reconcile::decide::status::Kind;
use crate::reconcile::decide::{Action, Draft};

/// Certificates of a cluster live a year; who asks for more than that and some days wants something else.
const LONGEST_SECONDS: i32 = 367 * 24 * 3600;

/// Approves the node's own request, if there is one and it is right.
pub(super) fn approve(draft: &mut Draft<'_>, key: Option<&Key>) {
    let (Some(key), Some(_), true) = (key, &draft.status.claim, draft.hands_out()) else {
        return;
    };
    // A Node of its name that is not the instance's, or that this very pass deletes.
    if draft.case.observed.node.is_some() && draft.findings.node.is_none() {
        return;
    }
    let requests = &draft.case.observed.requests;
    let mut own: Vec<&CertificateSigningRequest> = requests
        .iter()
        .filter(|it| it.spec.signer_name == Purpose::Serving.signer() && made_by(it, draft.case.instance))
        .collect();
    own.sort_by_key(|it| &it.metadata.name);
    let mut refused = None;
    for request in own {
        let name = request.metadata.name.clone().unwrap_or_default();
        if let Err(refusal) = verify(request, draft.case.instance, &key.addresses) {
            refused.get_or_insert(format!("ignored `{name}`: {refusal}"));
        } else if let Some(resource_version) = request.metadata.resource_version.clone() {
            draft.say(
                Kind::ServingCertificateApproved,
                true,
                "Approved",
                format!("approved `{name}`"),
            );
            return draft.act(Action::Approve {
                name,
                resource_version,
                purpose: Purpose::Serving,
            });
        }
    }
    if let Some(message) = refused {
        draft.say(Kind::ServingCertificateApproved, false, "Ignored", message);
    }
}

fn made_by(request: &CertificateSigningRequest, instance: &InstanceId) -> bool {
    let user = request.spec.username.as_deref();
    user.and_then(|it| it.strip_prefix(NODE_USER)) == Some(instance.as_str())
}

/// Holds a request against the node that made it.
fn verify(request: &CertificateSigningRequest, instance: &InstanceId, addresses: &[IpAddr]) -> Result<(), Refusal> {
    let groups = request.spec.groups.as_deref().unwrap_or_default();
    let own = made_by(request, instance) && groups.iter().any(|it| it == NODES);
    ensure(own, Refusal::Node)?;
    fits(request, Purpose::Serving)?;
    let validity = request.spec.expiration_seconds;
    ensure(validity.is_none_or(|it| it <= LONGEST_SECONDS), Refusal::Validity)?;
    super::request::verify(request, instance, |info| {
        let names = alternative_names(info).ok_or(Refusal::Names)?;
        ensure(names_fit(names, instance.as_str(), addresses), Refusal::Names)
    })
}

/// The alternative names, if they are all that is asked beside the subject.
fn alternative_names<'a>(info: &'a X509CertificationRequestInfo<'_>) -> Option<&'a [GeneralName<'a>]> {
    let [attribute] = info.attributes() else { return None };
    let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() else {
        return None;
    };
    let [extension] = requested.extensions.as_slice() else {
        return None;
    };
    match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    }
}

/// The node's name once, at least one of its addresses, and nothing else.
fn names_fit(names: &[GeneralName<'_>], instance: &str, addresses: &[IpAddr]) -> bool {
    let mut hosts = 0;
    let mut own_addresses = 0;
    for name in names {
        match name {
            GeneralName::DNSName(host) if *host == instance => hosts += 1,
            GeneralName::IPAddress(bytes) if address(bytes).is_some_and(|it| addresses.contains(&it)) => {
                own_addresses += 1;
            }
            _ => return false,
        }
    }
    hosts == 1 && own_addresses > 0
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
