//! Which WireGuard key an instance has.
//!
//! The choice is written into the Worker first and into the key's label second, each only if the object is as it was
//! seen. So two passes that see different pools still choose one key. A choice is given up only when the key is known to
//! be another's, for a label that is on its way may arrive late.

use super::pool::{Key, Keys};
use super::status::Kind;
use super::{Action, Draft};
use crate::names::INSTANCE_LABEL;

/// Finds the instance's key, or gives it one if it may have one.
pub(super) fn assign(draft: &mut Draft<'_>) -> Option<Key> {
    if draft.failed() {
        quarantine(draft);
        return None;
    }
    let keys = &draft.case.observed.keys;
    let chosen = draft.findings.key.as_deref();
    let held = keys.held.iter().find(|it| Some(it.name.as_str()) == chosen);
    if let Some(key) = held.or(keys.held.first()).cloned() {
        // A choice is written down before the label.
        draft.findings.inherited |= chosen.is_none();
        return Some(keep(draft, key));
    }
    if draft.findings.joined.is_some() && !keys.choice_is_free {
        lost(draft);
        return None;
    }
    if draft.status.announced.is_none() && draft.status.claim.is_none() {
        draft.say(
            Kind::KeyAssigned,
            false,
            "Waiting",
            "waits for an announcement or a claim",
        );
        return None;
    }
    if draft.group().is_none() {
        let message = "no node group takes the instance";
        draft.say(Kind::KeyAssigned, false, "NotEligible", message);
        return None;
    }
    if !draft.hands_out() {
        let message = "nothing is handed out to the instance as it stands";
        draft.say(Kind::KeyAssigned, false, "Withheld", message);
        return None;
    }
    if draft.case.observed.unsettled {
        let message =
            "the labels of keys and the Workers contradict each other; waits until EC2 was asked about all instances";
        draft.say(Kind::KeyAssigned, false, "Unsettled", message);
        return None;
    }
    if let Some(name) = draft.findings.key.take_if(|_| !keys.choice_is_free) {
        draft.act(Action::GiveUpKey { name });
    }
    let Some(key) = keys.free.clone() else {
        draft.say(Kind::KeyAssigned, false, "PoolEmpty", exhausted(keys));
        return None;
    };
    draft.findings.key = Some(key.name.clone());
    draft.findings.key_fingerprint = Some(key.fingerprint.clone());
    draft.say(
        Kind::KeyAssigned,
        true,
        "Assigned",
        format!("has the key `{}`", key.name),
    );
    draft.guard();
    draft.act(Action::LabelKey {
        name: key.name.clone(),
        resource_version: key.resource_version.clone(),
    });
    Some(key)
}

/// Takes note of a key that the instance has, and of what happened to it since.
fn keep(draft: &mut Draft<'_>, key: Key) -> Key {
    let others = draft.case.observed.keys.held.len() - 1;
    let same = draft.findings.key.as_ref() == Some(&key.name);
    let known = draft.findings.key_fingerprint.take().filter(|_| same);
    // What has not joined yet is served the document as it is now.
    let given = known.filter(|_| draft.findings.joined.is_some());
    let given = given.unwrap_or_else(|| key.fingerprint.clone());
    let name = &key.name;
    let (reason, message) = if given != key.fingerprint {
        let message = format!(
            "the document of the key `{name}` was changed after the node got it, and the node still has the old one; change it \
             back, or terminate the instance"
        );
        ("KeyChanged", message)
    } else if let Some(other) = &key.double {
        let message = format!("the key `{name}` and `{other}` have the same public key or address; remove one of them");
        ("KeyDoubled", message)
    } else if others > 0 {
        let message = format!("has the key `{name}`; {others} more carry its name on their label");
        ("Assigned", message)
    } else {
        ("Assigned", format!("has the key `{name}`"))
    };
    draft.say(Kind::KeyAssigned, true, reason, message);
    draft.findings.key = Some(key.name.clone());
    draft.findings.key_fingerprint = Some(given);
    key
}

/// A node that has joined keeps using the key that it has: another one would be of no use to it.
fn lost(draft: &mut Draft<'_>) {
    let message = match &draft.findings.key {
        Some(name) => format!(
            "the node has joined with the key `{name}`, whose Secret is not there or is labelled for another now; put it back, or \
             terminate the instance"
        ),
        None => "the node has joined, and no key names the instance".to_owned(),
    };
    draft.say(Kind::KeyAssigned, false, "KeyLost", message);
}

/// Takes the keys out of use that two quarrelling claims may both have got.
pub(super) fn quarantine(draft: &mut Draft<'_>) {
    let held = &draft.case.observed.keys.held;
    for key in held {
        draft.actions.push(Action::Quarantine {
            name: key.name.clone(),
            resource_version: key.resource_version.clone(),
        });
    }
    let held = held.first().map(|it| it.name.clone());
    draft.findings.key_fingerprint = None;
    if let Some(name) = held.or(draft.findings.key.take()) {
        draft.findings.key = None;
        let message =
            format!("the key `{name}` is in quarantine: change it here and on the gateway before it is used again");
        draft.say(Kind::KeyAssigned, false, "Quarantined", message);
    }
}

fn exhausted(keys: &Keys) -> String {
    format!(
        "none of {} keys is free ({} without the label `{INSTANCE_LABEL}`, {} in quarantine, {} with an unreadable document or \
         an address in use); add one (that the node group's `keys` select), or terminate an instance that has one",
        keys.total, keys.unlabelled, keys.quarantined, keys.unusable
    )
}
