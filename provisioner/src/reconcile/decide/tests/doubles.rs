//! Keys that the gateway could not tell apart.

use test_case::test_case;

use super::fixture::{ONE, TWO, is_labelled, reason, settle, status, world};
use super::scene::{address, key_name, private_key};
use crate::names::QUARANTINE_LABEL;
use crate::worker::Phase;

/// Becomes like the other key in its address.
fn same_address(text: &str, own: u8, other: u8) -> String {
    text.replace(&address(own), &address(other))
}

/// Becomes like the other key in its private key.
fn same_private_key(text: &str, own: u8, other: u8) -> String {
    text.replace(&private_key([own; 32]), &private_key([other; 32]))
}

/// Becomes like the other key in its public key, by a private key that is not written alike: X25519 ignores some bits.
fn same_public_key(text: &str, own: u8, other: u8) -> String {
    let mut alike = [other; 32];
    alike[0] ^= 1;
    text.replace(&private_key([own; 32]), &private_key(alike))
}

#[test_case(1, 2, same_address; "the address")]
#[test_case(1, 2, same_private_key; "the private key")]
#[test_case(1, 2, same_public_key; "the public key")]
#[test_case(2, 1, same_address; "the address, and the free one comes first")]
#[test_case(2, 1, same_private_key; "the private key, and the free one comes first")]
#[test_case(2, 1, same_public_key; "the public key, and the free one comes first")]
fn a_key_that_is_doubled_in_use_is_told_and_its_double_never_given_away(
    used: u8,
    free: u8,
    alike: fn(&str, u8, u8) -> String,
) {
    let mut world = world(0);
    world.add_key(used);
    world.claim(ONE, "kubelet key", None);
    settle(&mut world, ONE);
    world.node(ONE, &address(used), true);
    settle(&mut world, ONE);
    world.add_key(free);
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "Assigned");

    world.edit_key(free, |it| {
        let text = alike(it, free, used);
        assert_ne!(text, it);
        text
    });
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "KeyDoubled");
    assert_eq!(status(&world, ONE).phase, Some(Phase::Ready));
    assert!(is_labelled(&world, used, ONE) && world.nodes.contains_key(ONE));
    world.claim(TWO, "kubelet key", None);
    settle(&mut world, TWO);
    assert_eq!(reason(&world, TWO, "KeyAssigned"), "PoolEmpty");
    assert!(is_labelled(&world, free, ""));

    world.keys.remove(&key_name(free));
    settle(&mut world, ONE);
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "Assigned");
}

#[test_case(same_address; "the address")]
#[test_case(same_public_key; "the public key")]
fn of_two_free_keys_that_are_alike_only_the_first_is_given_away(alike: fn(&str, u8, u8) -> String) {
    let mut world = world(2);
    world.edit_key(2, |it| alike(it, 2, 1));
    for instance in [ONE, TWO] {
        world.claim(instance, "kubelet key", None);
        settle(&mut world, instance);
    }
    assert_eq!(reason(&world, ONE, "KeyAssigned"), "KeyDoubled");
    assert_eq!(reason(&world, TWO, "KeyAssigned"), "PoolEmpty");
    assert!(is_labelled(&world, 1, ONE) && is_labelled(&world, 2, ""));
}

#[test_case(1, 2, same_address; "the address")]
#[test_case(2, 1, same_public_key; "the public key, and the free one comes first")]
fn the_double_of_a_key_in_quarantine_is_not_given_away(quarantined: u8, free: u8, alike: fn(&str, u8, u8) -> String) {
    let mut world = world(2);
    let labels = [(QUARANTINE_LABEL.to_owned(), ONE.to_owned())].into();
    world.keys.get_mut(&key_name(quarantined)).unwrap().metadata.labels = Some(labels);
    world.edit_key(free, |it| alike(it, free, quarantined));
    world.claim(TWO, "kubelet key", None);
    settle(&mut world, TWO);
    assert_eq!(reason(&world, TWO, "KeyAssigned"), "PoolEmpty");
    assert!(is_labelled(&world, free, ""));
}
