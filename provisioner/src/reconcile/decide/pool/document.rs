//! What the documents of the keys say, each read once, and which of them collide.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dynk8s_api::wireguard::Document;
use k8s_openapi::api::core::v1::Secret;
use ring::digest::{SHA256, digest};

use crate::document::{public_key, refusals};
use crate::names::KEY_FIELD;

/// What is kept of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The tunnel addresses.
    pub(crate) addresses: Vec<IpAddr>,
    /// The beginning of the document's hash, in hexadecimal digits.
    pub(crate) fingerprint: String,
    /// Whether a node could use it.
    pub(crate) usable: bool,
    /// What the gateway knows it by; several private keys have the same.
    public_key: Option<String>,
}

/// The documents that were read, by the names of their Secrets. They are read again only when the Secret changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    known: BTreeMap<String, (Option<String>, Facts)>,
    doubles: BTreeMap<String, BTreeSet<String>>,
}

impl Documents {
    /// Takes note of all key Secrets there are.
    pub(crate) fn read<'a>(&mut self, secrets: impl Iterator<Item = &'a Secret>) {
        let mut names = BTreeSet::new();
        let mut changed = false;
        for secret in secrets {
            let Some(name) = &secret.metadata.name else { continue };
            names.insert(name.as_str());
            let version = &secret.metadata.resource_version;
            let known = self.known.get(name);
            if known.is_some_and(|(seen, _)| seen == version) {
                continue;
            }
            let facts = known
                .map(|(_, facts)| facts)
                .filter(|it| it.are_of(secret))
                .map_or_else(|| Facts::of(secret), Clone::clone);
            changed |= known.is_none_or(|(_, before)| *before != facts);
            self.known.insert(name.clone(), (version.clone(), facts));
        }
        if names.len() != self.known.len() {
            changed = true;
            self.known.retain(|name, _| names.contains(name.as_str()));
        }
        if changed {
            self.doubles = doubles(&self.known);
        }
    }

    /// What the document of a Secret says.
    pub(crate) fn of(&self, name: &str) -> Option<&Facts> {
        self.known.get(name).map(|(_, facts)| facts)
    }

    /// The other Secrets with the same public key or one of the addresses, by name.
    pub(crate) fn doubles_of(&self, name: &str) -> impl Iterator<Item = &str> + use<'_> {
        self.doubles.get(name).into_iter().flatten().map(String::as_str)
    }
}

impl Facts {
    fn of(secret: &Secret) -> Self {
        let Some(bytes) = bytes(secret) else {
            return Self::default();
        };
        let text = std::str::from_utf8(bytes).ok();
        let Some(document) = text.and_then(|it| Document::parse(it).ok()) else {
            return Self::default();
        };
        let interface = &document.interface;
        Self {
            addresses: interface.addresses.iter().map(ipnet::IpNet::addr).collect(),
            usable: refusals(&document).is_empty(),
            fingerprint: fingerprint(bytes),
            public_key: public_key(&document).map(String::from),
        }
    }

    /// Whether nothing but labels has changed since.
    fn are_of(&self, secret: &Secret) -> bool {
        bytes(secret).is_some_and(|it| fingerprint(it) == self.fingerprint)
    }
}

fn bytes(secret: &Secret) -> Option<&[u8]> {
    let field = secret.data.as_ref()?.get(KEY_FIELD)?;
    Some(&field.0)
}

fn fingerprint(bytes: &[u8]) -> String {
    beginning(digest(&SHA256, bytes).as_ref())
}

/// The first eight bytes, in hexadecimal digits.
fn beginning(hash: &[u8]) -> String {
    let first = hash.first_chunk().map(|it| u64::from_be_bytes(*it));
    first.map_or_else(String::new, |it| format!("{it:016x}"))
}

fn doubles(known: &BTreeMap<String, (Option<String>, Facts)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut by_address: BTreeMap<IpAddr, Vec<&str>> = BTreeMap::new();
    let mut by_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, (_, facts)) in known {
        for address in &facts.addresses {
            by_address.entry(*address).or_default().push(name);
        }
        if let Some(key) = &facts.public_key {
            by_key.entry(key).or_default().push(name);
        }
    }
    let mut doubles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for alike in by_address.into_values().chain(by_key.into_values()) {
        for name in &alike {
            let others = alike.iter().filter(|it| *it != name).map(|it| (*it).to_owned());
            let mut others = others.peekable();
            if others.peek().is_some() {
                doubles.entry((*name).to_owned()).or_default().extend(others);
            }
        }
    }
    doubles
}
