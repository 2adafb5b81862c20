//! How much a document may hold. WireGuard knows no such bounds; whoever reads a document of somebody else's needs them.

/// Bytes.
pub(super) const LENGTH: usize = 32 * 1024;

/// `[Peer]` sections.
pub(super) const PEERS: usize = 16;

/// Entries of `Address`.
pub(super) const ADDRESSES: usize = 16;

/// Entries of `DNS`, servers and search domains together.
pub(super) const DNS: usize = 32;

/// Entries of `AllowedIPs` of one peer: what one netlink message to the kernel holds.
pub(super) const ALLOWED_IPS: usize = 192;
