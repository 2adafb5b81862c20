//! The node's side of dynk8s: from a bare boot to a node of an on-premises cluster.
//!
//! Read [`bootstrap`] first: it is the plot, and every other module is a step of it or the rim that the steps stand on.

pub mod bootstrap;
pub mod cli;
pub mod config;
pub mod telemetry;
pub mod timeline;

mod api_server;
mod around;
mod claim;
mod clock;
mod doctor;
mod facts;
mod guard;
mod host;
mod join;
mod names;
mod preview;
mod ready;
mod report;
mod reset;
mod retry;
mod state;
mod step;
mod tunnel;
mod uplink;
