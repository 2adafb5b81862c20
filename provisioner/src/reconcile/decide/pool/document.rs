//! What the documents of the keys say, each read once, and which of them collide.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dynk8s_api::wireguard::Document;
use k8s_openapi::api::core::v1::Secret;
use ring::digest::{SHA256, digest};

use crate::document::refusals;
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
    /// A hash of the private key.
    key: Vec<u8>,
}

/// The documents that were read, by the names of their Secrets. They are read again only when the Secret changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    known: BTreeMap<String, (Option<String>, Facts)>,
    doubles: BTreeMap<String, String>,
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
            let facts = Facts::of(secret);
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

    /// Another Secret, the first by name, with the same private key or one of the addresses.
    pub(crate) fn double_of(&self, name: &str) -> Option<&str> {
        self.doubles.get(name).map(String::as_str)
    }
}

impl Facts {
    fn of(secret: &Secret) -> Self {
        let Some(bytes) = secret.data.as_ref().and_then(|it| it.get(KEY_FIELD)) else {
            return Self::default();
        };
        let text = std::str::from_utf8(&bytes.0).ok();
        let Some(document) = text.and_then(|it| Document::parse(it).ok()) else {
            return Self::default();
        };
        let interface = &document.interface;
        Self {
            addresses: interface.addresses.iter().map(ipnet::IpNet::addr).collect(),
            usable: refusals(&document).is_empty(),
            fingerprint: beginning(digest(&SHA256, &bytes.0).as_ref()),
            key: digest(&SHA256, interface.private_key.expose().as_bytes())
                .as_ref()
                .to_vec(),
        }
    }
}

/// The first eight bytes, in hexadecimal digits.
fn beginning(hash: &[u8]) -> String {
    let first = hash.first_chunk().map(|it| u64::from_be_bytes(*it));
    first.map_or_else(String::new, |it| format!("{it:016x}"))
}

fn doubles(known: &BTreeMap<String, (Option<String>, Facts)>) -> BTreeMap<String, String> {
    let mut by_address: BTreeMap<IpAddr, Vec<&str>> = BTreeMap::new();
    let mut by_key: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
    for (name, (_, facts)) in known {
        for address in &facts.addresses {
            by_address.entry(*address).or_default().push(name);
        }
        if !facts.key.is_empty() {
            by_key.entry(&facts.key).or_default().push(name);
        }
    }
    let mut doubles = BTreeMap::new();
    for alike in by_address.into_values().chain(by_key.into_values()) {
        for name in &alike {
            // In the order of names: the first of all others.
            if let Some(other) = alike.iter().find(|it| *it != name) {
                let first: &mut String = doubles.entry((*name).to_owned()).or_insert_with(|| (*other).to_owned());
                if *other < first.as_str() {
                    (*other).clone_into(first);
                }
            }
        }
    }
    doubles
}
