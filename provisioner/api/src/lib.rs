//! What `dynk8s-agent` and `dynk8s-provisioner` must agree on, and nothing else: the shapes on the wire, the envelopes
//! that carry them, the binding inside a claim's proof, AWS's partitions, the signed identity document, and the wg-quick document.
//!
//! No I/O, no runtime, no clock. The conversation is specified in `docs/protocol.md`; a change here is a change there.
#![warn(missing_docs)]

pub mod binding;
pub mod claim;
pub mod document;
pub mod envelope;
pub mod instance;
pub mod partition;
pub mod problem;
pub mod progress;
pub mod secret;
pub mod wireguard;

mod bytes;

pub use envelope::{PrivateKey, PublicKey};
pub use instance::InstanceId;
pub use secret::Secret;

/// The version that the first line of every envelope's `info` carries, and the `/v1` of the paths.
pub const VERSION: u32 = 1;

/// The largest body, in bytes, that either side reads of the other.
pub const MAX_BODY: usize = 64 * 1024;

/// The path of a worker's claim.
pub fn claim_path(id: &InstanceId) -> String {
    format!("/v1/workers/{id}/claim")
}

/// The path of a worker's progress reports.
pub fn progress_path(id: &InstanceId) -> String {
    format!("/v1/workers/{id}/progress")
}
