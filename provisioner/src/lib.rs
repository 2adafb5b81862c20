//! The cluster's side of dynk8s: it hears of instances, believes what is proven, and makes each of them one node.
//!
//! `serve` faces the internet and only records; `reconcile` acts on what is recorded. All state is in the API server.

pub mod announce;
pub mod api_server;
pub mod aws;
pub mod claim;
pub mod cli;
pub mod commands;
pub mod config;
pub mod document;
pub mod ec2;
pub mod fetch;
pub mod http;
pub mod key;
pub mod labels;
pub mod manifests;
pub mod metrics;
pub mod names;
pub mod policies;
pub mod proof;
pub mod quantity;
pub mod readiness;
pub mod reconcile;
pub mod refusal;
pub mod resync;
pub mod serve;
pub mod sns;
pub mod stop;
pub mod store;
pub mod telemetry;
pub mod view;
pub mod work;
pub mod worker;
