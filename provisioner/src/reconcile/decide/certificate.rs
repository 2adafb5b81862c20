//! Which certificate requests are approved: the first client certificate of an instance, for its own name and the very key
//! that it claimed; and the serving certificates of its node, for its own name and its tunnel addresses.
//!
//! All others are ignored and never denied, for others may have reasons to approve them.

mod client;
mod request;
mod serving;

use super::Draft;
use super::pool::Key;

pub(crate) use request::{Purpose, instance_of};

/// Approves what the instance has asked for, if it has asked for the right things.
pub(super) fn approve(draft: &mut Draft<'_>, key: Option<&Key>) {
    client::approve(draft);
    serving::approve(draft, key);
}
