//! The cluster's side of dynk8s: it hears of instances, believes what is proven, and makes each of them one node.
//!
//! `serve` faces the internet and only records; `reconcile` acts on what is recorded. All state is in the API server.

pub mod config;
pub mod names;
pub mod worker;
