//! The proof of which instance asks: STS is asked who signed.

pub mod check;
pub mod identity;
pub mod sts;
mod version;

pub use check::Asked;
pub use identity::Identity;
