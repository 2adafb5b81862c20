//! What the pool is and what may become of it: pure functions of Secrets, Workers and Nodes.

pub(crate) mod addresses;
pub(crate) mod import;
pub(crate) mod inventory;
pub(crate) mod retire;

#[cfg(test)]
mod tests;
