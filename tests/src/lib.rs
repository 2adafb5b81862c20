//! The lab: everything around dynk8s that it needs to be tried whole, built on one machine and gone afterwards.

pub mod aws;
pub mod boot_time;
pub mod cluster;
pub mod debian;
pub mod host;
pub mod idle;
pub mod machine;
pub mod prepare;
pub mod product;
pub mod programs;
pub mod region;
pub mod stand_in;
pub mod story;
pub mod topology;
pub mod turns;
