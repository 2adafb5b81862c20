//! The emulators of AWS over real sockets: each accepts what AWS accepts, refuses what AWS refuses, and fails when told to.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is tests, whose helpers end them where they fail"
)]

mod ec2;
mod imds;
mod ingress;
mod sns;
mod sts;
mod subscriber;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use dynk8s_lab::aws::cloud::{Cloud, Instance};

/// Any free port of loopback.
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Far more than anything takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A region with one instance, which is whoever calls from loopback.
fn cloud() -> (Cloud, Instance) {
    let cloud = Cloud::new("123456789012", "eu-central-1");
    let instance = Instance::launch("m7g.large", "eu-central-1a", Ipv4Addr::LOCALHOST);
    cloud.add(instance.clone());
    (cloud, instance)
}
