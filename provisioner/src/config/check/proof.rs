//! What can be wrong with how a node group's instances prove themselves.

use super::Faults;
use crate::aws;
use crate::config::{InstanceRole, NodeGroup, Proof, ProofMode};

pub(super) fn check_group(faults: &mut Faults, place: &str, proof: &Proof, group: &NodeGroup) {
    let unsigned =
        |region: &str| group.proof != ProofMode::Sts && aws::is_region(region) && proof.signers(region).is_empty();
    for (at, region) in group.regions.iter().enumerate() {
        let fault = format!(
            "no certificate of AWS is known for identity documents of `{region}`; put it into the folder that \
             `proof.certificates` names, as `{region}.pem`, or say `proof = \"sts\"`"
        );
        faults.unless(!unsigned(region), format!("{place}.regions[{at}]"), fault);
    }
    let unbound = group.proof == ProofMode::Document;
    faults.unless(
        !unbound || group.accept_unbound_document,
        format!("{place}.proof"),
        "nothing binds the document to a claim, so whoever has read it can claim in the instance's place; say \
         `accept_unbound_document = true` if that is acceptable, or ask for `both`",
    );
    faults.unless(
        unbound || !group.accept_unbound_document,
        format!("{place}.accept_unbound_document"),
        "has a meaning only with `proof = \"document\"`",
    );
    if let Some(role) = &group.role {
        check_role(faults, &format!("{place}.role"), role);
        faults.unless(
            group.proof == ProofMode::Both,
            format!("{place}.role"),
            "needs `proof = \"both\"`, for whoever may assume the role chooses the name of its session",
        );
    }
}

fn check_role(faults: &mut Faults, place: &str, role: &InstanceRole) {
    let named = |it: u8| it.is_ascii_alphanumeric() || b"_+=,.@-".contains(&it);
    faults.unless(
        (1..=64).contains(&role.name.len()) && role.name.bytes().all(named),
        format!("{place}.name"),
        format!("`{}` is no name of a role (without its path)", role.name),
    );
    let capital = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit();
    let is_id = (16..=128).contains(&role.unique_id.len())
        && role.unique_id.starts_with("AROA")
        && role.unique_id.bytes().all(capital);
    faults.unless(
        is_id,
        format!("{place}.unique_id"),
        format!(
            "`{}` is no unique id of a role; `aws iam get-role` prints it as `RoleId`, `AROA...`",
            role.unique_id
        ),
    );
}
