//! The wg-quick document: the WireGuard configuration that a key Secret holds and a node applies.
//!
//! It is read as `wg-quick(8)` and `wg(8)` read it, with two differences: what would run a command is refused, and so
//! is every key that neither of them knows, each with its line.

mod bounds;
mod fault;
mod interface;
mod keys;
mod parse;
mod peer;
#[cfg(test)]
mod tests;
mod value;

use std::net::IpAddr;

use ipnet::IpNet;

use crate::bytes;
use crate::secret::Secret;

pub use fault::{Error, Fault, Hint};

/// A whole document: one interface and its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The `[Interface]` section.
    pub interface: Interface,
    /// The `[Peer]` sections, at least one.
    pub peers: Vec<Peer>,
}

/// This side of the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The private key: 32 bytes in base64.
    pub private_key: Secret,
    /// Addresses with their prefix lengths, host bits kept; at least one.
    pub addresses: Vec<IpNet>,
    /// DNS servers.
    pub dns: Vec<IpAddr>,
    /// Search domains: the entries of `DNS` that are no addresses.
    pub search: Vec<String>,
    /// MTU in bytes; absent means: choose.
    pub mtu: Option<u16>,
    /// UDP port; absent means: any.
    pub listen_port: Option<u16>,
    /// Firewall mark of outgoing packets; absent means: none.
    pub fwmark: Option<u32>,
    /// Where routes go.
    pub table: Table,
}

/// Where the routes to the peers' addresses go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// The main table, and wg-quick's policy routing for a default route.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// This table.
    Number(u32),
}

/// The other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The public key.
    pub public_key: Key,
    /// The preshared key, 32 bytes in base64.
    pub preshared_key: Option<Secret>,
    /// The networks behind the peer, masked.
    pub allowed_ips: Vec<IpNet>,
    /// Where the peer is.
    pub endpoint: Option<Endpoint>,
    /// Seconds between keepalives; `None` if the document does not say, 0 if it says `off`.
    pub persistent_keepalive: Option<u16>,
}

/// A WireGuard public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// Host and port, the host a name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A name, an IPv4 address or an IPv6 address (without brackets).
    pub host: String,
    /// UDP port.
    pub port: u16,
}

impl Key {
    /// Reads base64.
    pub fn from_base64(text: &str) -> Option<Self> {
        bytes::decode_exact(text).map(Self)
    }

    /// The raw key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&bytes::encode(&self.0))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}
