//! The proof of which instance asks: AWS's signature on its identity document, and STS, which is asked who signed.

pub mod certificates;
pub mod check;
pub mod decide;
pub mod document;
#[cfg(test)]
pub(crate) mod fixture;
pub mod identity;
pub mod sts;
mod turns;
mod version;

pub use check::Asked;
pub use identity::Identity;
pub use turns::Standing;
