//! The keys that wg(8) and wg-quick(8) know, by section, and what an unknown one may have been.

use super::fault::{Fault, Hint};

const INTERFACE: &[&str] = &["PrivateKey", "Address", "DNS", "MTU", "ListenPort", "FwMark", "Table"];
const PEER: &[&str] = &[
    "PublicKey",
    "PresharedKey",
    "AllowedIPs",
    "Endpoint",
    "PersistentKeepalive",
];
const COMMANDS: &[&str] = &["PreUp", "PostUp", "PreDown", "PostDown", "SaveConfig"];

/// A key that differs in at most so many places is taken for a misspelling.
const NEAR: usize = 2;

/// The fault of a key that `[Interface]` does not have.
pub(super) fn unknown_of_interface(key: &str) -> Fault {
    match COMMANDS.iter().find(|it| it.eq_ignore_ascii_case(key)) {
        Some(command) => Fault::Unsupported(command),
        None => unknown(key, INTERFACE, PEER, "[Peer]"),
    }
}

/// The fault of a key that `[Peer]` does not have.
pub(super) fn unknown_of_peer(key: &str) -> Fault {
    unknown(key, PEER, &[INTERFACE, COMMANDS].concat(), "[Interface]")
}

fn unknown(key: &str, here: &[&'static str], elsewhere: &[&'static str], section: &'static str) -> Fault {
    let key = printable(key);
    let hint = if elsewhere.iter().any(|it| it.eq_ignore_ascii_case(&key)) {
        Hint::Section(section)
    } else {
        nearest(&key, here).map_or(Hint::None, Hint::Key)
    };
    Fault::UnknownKey { key, hint }
}

fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |it: &str| strsim::levenshtein(&it.to_ascii_lowercase(), &key.to_ascii_lowercase());
    let nearest = known.iter().min_by_key(|it| distance(it))?;
    (distance(nearest) <= NEAR).then_some(*nearest)
}

/// A key's name for an error: short, and without what could drive a terminal.
pub(super) fn printable(key: &str) -> String {
    key.chars().take(40).flat_map(char::escape_default).collect()
}
