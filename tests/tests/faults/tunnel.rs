//! The way to the gateway fails, in each of its ways.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::ensure;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::region::{Site, until};
use dynk8s_lab::topology::addresses::vpc_v6;
use dynk8s_lab::topology::blockade::Blockade;
use tokio::time::{Instant, sleep};

use crate::stage::{SOON, Stage, names};

const IMPATIENT: &str = "[deadlines]\ntunnel = \"6s\"\n";

pub(crate) async fn way_is_blocked(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let premises = stage.region.topology.premises.namespace().clone();
    let blockade = Blockade::raise(premises, "iifname \"public\" meta l4proto { udp, icmp }")?;
    let mut site = stage.region.site(&instance, IMPATIENT)?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(
        &line,
        &["tunnel", "198.51.100.20:51820", "security group", "UDP port 51820"],
    )?;
    drop(blockade);
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn key_is_unknown_to_the_gateway(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let gateway = &stage.region.topology.premises.gateway;
    gateway.remove_peer(&tunnel.keys.public)?;
    let mut site = stage.region.site(&instance, IMPATIENT)?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["tunnel", "keys are the first suspect", &tunnel.keys.public])?;
    gateway.add_peer(&tunnel.keys.public, tunnel.address)?;
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn long_packets_get_lost(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    // WireGuard makes 1404 bytes of 1340, and rounds what is longer up to more.
    let _hole = stage.region.topology.vpc.lose_long_packets(1404)?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    site.says("taking 1340 as its MTU", SOON).await?;
    let link = ip(site.host().namespace(), &["link", "show", "dynk8s"])?;
    ensure!(link.contains("mtu 1340 "), "{link}");
    Ok(())
}

pub(crate) async fn agent_starts_again_in_a_living_session(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, tunnel) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    sleep(Duration::from_secs(3)).await;
    site.kill();
    let began = Instant::now();
    site.start()?;
    is_ready(&site, 2).await?;
    let age = stage
        .region
        .topology
        .premises
        .gateway
        .handshake_age(&tunnel.keys.public)?;
    ensure!(
        age.is_some_and(|it| it > began.elapsed()),
        "there was a new handshake: {age:?} old, {:?} after the start",
        began.elapsed()
    );
    Ok(())
}

pub(crate) async fn default_route_leads_into_it(stage: &mut Stage) -> anyhow::Result<()> {
    let instance = stage.newcomer_with_default_route().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    let namespace = site.host().namespace();
    for (address, interface) in [
        ("203.0.113.9", "dynk8s"),
        ("192.168.10.10", "dynk8s"),
        // Metadata, the resolvers, the time, another subnet of the VPC, the endpoint and the provisioner, and one's own subnet.
        ("169.254.169.254", "ens5"),
        ("169.254.169.253", "ens5"),
        ("172.31.0.2", "ens5"),
        ("169.254.169.123", "ens5"),
        ("172.31.200.7", "ens5"),
        ("198.51.100.20", "ens5"),
        ("172.31.0.77", "ens5"),
    ] {
        let route = ip(namespace, &["route", "get", address])?;
        ensure!(route.contains(&format!("dev {interface} ")), "{route}");
    }
    let rules = ip(namespace, &["rule"])?;
    ensure!(rules.contains("not from all fwmark 0xca6c lookup 51820"), "{rules}");
    // Now metadata, endpoint and provisioner must be reached beside the tunnel.
    site.kill();
    site.start()?;
    is_ready(&site, 2).await
}

/// Also where the machine has an address of version 6, and a default route below for it.
pub(crate) async fn default_route_of_ipv6_leads_into_it(stage: &mut Stage) -> anyhow::Result<()> {
    let instance = stage.newcomer_with_default_route().await?;
    stage.region.topology.vpc.speak_ipv6()?;
    let mut site = stage.region.site(&instance, "")?;
    site.host().speak_ipv6()?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    let namespace = site.host().namespace();
    let neighbour = vpc_v6(Ipv4Addr::new(172, 31, 0, 77)).to_string();
    for (address, interface) in [
        ("2001:db8::9", "dynk8s"),
        ("fd00:bad::9", "dynk8s"),
        // Metadata, the resolver, the time, and one's own subnet.
        ("fd00:ec2::254", "ens5"),
        ("fd00:ec2::253", "ens5"),
        ("fd00:ec2::123", "ens5"),
        (&neighbour, "ens5"),
    ] {
        let route = ip(namespace, &["-6", "route", "get", address])?;
        ensure!(route.contains(&format!("dev {interface} ")), "{route}");
    }
    let rules = ip(namespace, &["-6", "rule"])?;
    ensure!(rules.contains("not from all fwmark 0xca6c lookup 51820"), "{rules}");
    // The endpoint is found below all of this.
    site.kill();
    site.start()?;
    is_ready(&site, 2).await
}

/// Waits until the agent has said so often that the Node is Ready.
pub(crate) async fn is_ready(site: &Site, times: usize) -> anyhow::Result<()> {
    let said = async || Ok((site.log().matches("` is Ready (").count() >= times).then_some(()));
    until("the agent says that its Node is Ready", SOON, said).await
}

fn ip(namespace: &Namespace, words: &[&str]) -> anyhow::Result<String> {
    let mut command = std::process::Command::new("ip");
    command.args(words);
    namespace.output(command)
}
