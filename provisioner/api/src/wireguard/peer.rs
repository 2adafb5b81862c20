//! What a `[Peer]` says, line by line.

use ipnet::IpNet;

use super::fault::{Error, Fault};
use super::value::{endpoint, invalid, items, keepalive, network, once, push, secret_key};
use super::{Endpoint, Key, Peer, bounds, keys};
use crate::secret::Secret;

#[derive(Default)]
pub(super) struct Draft {
    /// Where the section begins.
    line: usize,
    public_key: Option<Key>,
    preshared_key: Option<Secret>,
    allowed_ips: Vec<IpNet>,
    endpoint: Option<Endpoint>,
    persistent_keepalive: Option<u16>,
}

impl Draft {
    pub(super) fn begin(line: usize) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        match key.to_ascii_lowercase().as_str() {
            "publickey" => {
                let key = Key::from_base64(value).ok_or(invalid("PublicKey", "32 bytes in base64"))?;
                once("PublicKey", &mut self.public_key, key)
            }
            "presharedkey" => {
                let key = secret_key("PresharedKey", value)?;
                once("PresharedKey", &mut self.preshared_key, key)
            }
            "allowedips" => items(value).try_for_each(|it| {
                let allowed = network("AllowedIPs", it)?.trunc();
                push("AllowedIPs", bounds::ALLOWED_IPS, &mut self.allowed_ips, allowed)
            }),
            "endpoint" => once("Endpoint", &mut self.endpoint, endpoint(value)?),
            "persistentkeepalive" => once("PersistentKeepalive", &mut self.persistent_keepalive, keepalive(value)?),
            _ => Err(keys::unknown_of_peer(key)),
        }
    }

    /// The whole section; `before` are the peers that stand above it.
    pub(super) fn finish(self, before: &[Peer]) -> Result<Peer, Error> {
        let fault = |fault| Error { line: self.line, fault };
        let public_key = self.public_key.ok_or(fault(Fault::Missing("PublicKey")))?;
        if before.iter().any(|it| it.public_key == public_key) {
            return Err(fault(Fault::RepeatedPeer));
        }
        Ok(Peer {
            public_key,
            preshared_key: self.preshared_key,
            allowed_ips: self.allowed_ips,
            endpoint: self.endpoint,
            persistent_keepalive: self.persistent_keepalive,
        })
    }
}
