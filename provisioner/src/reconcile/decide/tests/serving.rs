//! When a node gets its serving certificate.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::json;
use test_case::test_case;

use super::fixture::{ONE, joined, joining, plan, reason, settle};
use super::scene::address;
use super::world::World;
use crate::reconcile::decide::{Action, Purpose};
use crate::worker::{State, Wish};

/// A kubelet asks for itself.
fn ask(world: &mut World, name: &str, tunnel_address: &str) {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    let user = format!("system:node:{ONE}");
    let subject = &mut parameters.distinguished_name;
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, user.as_str());
    parameters.subject_alt_names = vec![
        SanType::DnsName(ONE.try_into().unwrap()),
        SanType::IpAddress(tunnel_address.parse().unwrap()),
    ];
    let request = parameters.serialize_request(&KeyPair::generate().unwrap()).unwrap();
    let request = json!({
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": {
            "signerName": Purpose::Serving.signer(),
            "username": user,
            "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"],
            "request": BASE64_STANDARD.encode(request.pem().unwrap()),
        },
    });
    let request = serde_json::from_value(request).unwrap();
    world.requests.insert(name.to_owned(), request);
}

fn approves(world: &World, request: &str) -> bool {
    let wanted = Action::Approve {
        name: request.to_owned(),
        resource_version: "1".to_owned(),
        purpose: Purpose::Serving,
    };
    plan(world, ONE).actions.contains(&wanted)
}

#[test]
fn the_first_one_is_approved_before_the_node_is_there() {
    let mut world = joining(1);
    ask(&mut world, "csr-1", &address(1));
    assert!(approves(&world, "csr-1"));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "ServingCertificateApproved"), "Approved");
}

#[test]
fn a_renewal_is_approved() {
    let mut world = joined();
    ask(&mut world, "csr-2", &address(1));
    assert!(approves(&world, "csr-2"));
}

#[test]
fn a_wrong_one_does_not_keep_a_right_one_away() {
    let mut world = joined();
    ask(&mut world, "csr-1", &address(2));
    assert!(!approves(&world, "csr-1"));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "ServingCertificateApproved"), "Ignored");
    ask(&mut world, "csr-2", &address(1));
    assert!(approves(&world, "csr-2"));
}

type Change = fn(&mut World);

#[test_case(|it| it.workers.get_mut(ONE).unwrap().spec.wished = Wish::Gone; "it is gone")]
#[test_case(|it| it.announce(ONE, State::Stopping); "it is stopping")]
#[test_case(|it| it.record(ONE, |it| it.claim = None); "it has not proven itself")]
#[test_case(|it| it.record(ONE, |it| it.contested = it.claim.as_ref().map(|it| it.time)); "it is contested before the join")]
#[test_case(|it| it.keys.clear(); "its key is not there")]
#[test_case(|it| it.claim(ONE, "kubelet key", Some(1)); "it starts over")]
#[test_case(|it| it.nodes.get_mut(ONE).unwrap().spec.as_mut().unwrap().provider_id = None; "the Node of its name is not its own")]
fn otherwise_it_is_not(change: Change) {
    let mut world = joining(1);
    world.node(ONE, &address(1), false);
    ask(&mut world, "csr-1", &address(1));
    assert!(approves(&world, "csr-1"));
    change(&mut world);
    assert!(!approves(&world, "csr-1"));
}
