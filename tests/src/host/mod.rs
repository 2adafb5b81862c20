//! What the lab needs of the machine it runs on, and how it leaves that machine as it was.

pub mod cache;
pub mod command;
pub mod containment;
pub mod namespace;
pub mod packages;
pub mod process;
pub mod progress;
pub mod room;
pub mod snapshot;
