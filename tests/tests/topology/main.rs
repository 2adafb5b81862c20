//! The lab's networks are what they pretend to be: who reaches whom, by which way, and who knows which name.

mod dhcp;
mod node;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::ConnectInfo;
use dynk8s_lab::aws::cloud::Cloud;
use dynk8s_lab::aws::imds::Imds;
use dynk8s_lab::aws::server::Server;
use dynk8s_lab::host::containment;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::topology::Topology;
use dynk8s_lab::topology::addresses::{
    ACCOUNT, API_SERVER, API_SERVER_NAME, AWS_ENDPOINTS, GATEWAY_NAME, IMDS, PREMISES_PUBLIC, PROVISIONER_NAME, REGION,
    SNS_NAME, STS_NAME, TUNNEL_NETWORK, VPC_FIRST_INSTANCE, VPC_PUBLIC, VPC_RESOLVER, VPC_ROUTER,
};
use libtest_mimic::{Arguments, Trial};

use self::node::{Node, get};

/// Longer than anything takes in these networks.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> anyhow::Result<ExitCode> {
    containment::enter()?;
    let scene = Arc::new(Scene::set()?);
    let trial = |name: &str, check: fn(&Scene) -> anyhow::Result<()>| {
        let scene = scene.clone();
        Trial::test(name, move || check(&scene).map_err(|error| format!("{error:#}").into()))
    };
    let trials = vec![
        trial(
            "vpc_resolver_knows_public_names_only",
            vpc_resolver_knows_public_names_only,
        ),
        trial("premises_resolver_knows_all_names", premises_resolver_knows_all_names),
        trial("dhcp_gives_the_reserved_lease", dhcp_gives_the_reserved_lease),
        trial("metadata_are_there_in_the_vpc_only", metadata_are_there_in_the_vpc_only),
        trial(
            "internet_sees_the_translated_address",
            internet_sees_the_translated_address,
        ),
        trial(
            "nobody_outside_reaches_into_the_vpc",
            nobody_outside_reaches_into_the_vpc,
        ),
        trial(
            "api_server_is_reached_through_the_tunnel_only",
            api_server_is_reached_through_the_tunnel_only,
        ),
        trial(
            "lost_packets_to_the_gateway_come_again",
            lost_packets_to_the_gateway_come_again,
        ),
        trial(
            "lost_packets_to_the_endpoint_come_again",
            lost_packets_to_the_endpoint_come_again,
        ),
    ];
    let mut arguments = Arguments::from_args();
    // What one of them blocks, another needs.
    arguments.test_threads = Some(1);
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

struct Scene {
    node: Node,
    topology: Topology,
    // The API server's place, the public endpoint, an endpoint of AWS and the metadata service.
    _servers: [Server; 4],
}

impl Scene {
    fn set() -> anyhow::Result<Self> {
        let topology = Topology::build()?;
        let node = Node::boot(&topology)?;
        let premises = topology.premises.namespace();
        let metadata = Imds::new(Cloud::new(ACCOUNT, REGION));
        let servers = [
            serve(premises, API_SERVER, 6443, mirror())?,
            serve(premises, PREMISES_PUBLIC, 443, mirror())?,
            serve(topology.internet.namespace(), AWS_ENDPOINTS, 443, mirror())?,
            serve(topology.vpc.namespace(), IMDS, 80, metadata.routes())?,
        ];
        Ok(Self {
            node,
            topology,
            _servers: servers,
        })
    }
}

fn serve(namespace: &Namespace, address: Ipv4Addr, port: u16, routes: Router) -> anyhow::Result<Server> {
    namespace.wait_for(Server::plain((address, port).into(), routes))?
}

/// Answers with the address that the request came from.
fn mirror() -> Router {
    Router::new().fallback(async |ConnectInfo(from): ConnectInfo<SocketAddr>| from.ip().to_string())
}

fn vpc_resolver_knows_public_names_only(scene: &Scene) -> anyhow::Result<()> {
    for (name, address) in [
        (GATEWAY_NAME, PREMISES_PUBLIC),
        (PROVISIONER_NAME, PREMISES_PUBLIC),
        (STS_NAME, AWS_ENDPOINTS),
        (SNS_NAME, AWS_ENDPOINTS),
    ] {
        ensure!(scene.node.look_up(name)? == Some(address), "{name}");
    }
    for name in [API_SERVER_NAME, "gateway.onprem.example", "no.such.example"] {
        ensure!(scene.node.look_up(name)?.is_none(), "{name} is known");
        // Asked and denied, which is not the same as not asked or not answered.
        let denial = format!("config {name} is NXDOMAIN");
        ensure!(scene.topology.vpc.dns_log()?.contains(&denial), "no `{denial}`");
    }
    Ok(())
}

fn premises_resolver_knows_all_names(scene: &Scene) -> anyhow::Result<()> {
    let room = scene.topology.premises.room("somebody")?;
    for (name, address) in [(API_SERVER_NAME, API_SERVER), (STS_NAME, AWS_ENDPOINTS)] {
        ensure!(node::look_up(&room, name)? == Some(address), "{name}");
    }
    ensure!(node::look_up(&room, "no.such.example")?.is_none());
    Ok(())
}

fn dhcp_gives_the_reserved_lease(scene: &Scene) -> anyhow::Result<()> {
    let host = &scene.node.host;
    let offer = host.namespace().run(|| dhcp::discover(node::MAC, PATIENCE))??;
    ensure!(offer.address == VPC_FIRST_INSTANCE, "{offer:?}");
    ensure!(offer.router == Some(VPC_ROUTER), "{offer:?}");
    ensure!(offer.resolver == Some(VPC_RESOLVER), "{offer:?}");
    Ok(())
}

fn metadata_are_there_in_the_vpc_only(scene: &Scene) -> anyhow::Result<()> {
    let answer = get(scene.node.host.namespace(), IMDS, 80)?;
    ensure!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    for elsewhere in [scene.topology.premises.namespace(), scene.topology.internet.namespace()] {
        ensure!(get(elsewhere, IMDS, 80).is_err(), "{} has metadata", elsewhere.name());
    }
    Ok(())
}

fn internet_sees_the_translated_address(scene: &Scene) -> anyhow::Result<()> {
    let answer = get(scene.node.host.namespace(), AWS_ENDPOINTS, 443)?;
    ensure!(answer.ends_with(&VPC_PUBLIC.to_string()), "{answer}");
    Ok(())
}

fn nobody_outside_reaches_into_the_vpc(scene: &Scene) -> anyhow::Result<()> {
    let _listening = serve(scene.node.host.namespace(), VPC_FIRST_INSTANCE, 10250, mirror())?;
    get(scene.topology.vpc.namespace(), VPC_FIRST_INSTANCE, 10250).context("not even inside")?;
    let premises = scene.topology.premises.namespace();
    ensure!(get(premises, VPC_FIRST_INSTANCE, 10250).is_err());
    // Nor by naming the router as the way.
    let internet = scene.topology.internet.namespace();
    internet.ip(&format!("route add {VPC_FIRST_INSTANCE} via {VPC_PUBLIC}\n"))?;
    ensure!(get(internet, VPC_FIRST_INSTANCE, 10250).is_err());
    Ok(())
}

fn api_server_is_reached_through_the_tunnel_only(scene: &Scene) -> anyhow::Result<()> {
    ensure!(
        get(scene.node.host.namespace(), API_SERVER, 6443).is_err(),
        "there is no tunnel yet"
    );
    let internet = scene.topology.internet.namespace();
    internet.ip(&format!("route add {API_SERVER} via {PREMISES_PUBLIC}\n"))?;
    ensure!(get(internet, API_SERVER, 6443).is_err(), "the internet reaches the LAN");

    let gateway = &scene.topology.premises.gateway;
    let tunnel = gateway.admit(2)?;
    ensure!(
        gateway.handshake_age(&tunnel.keys.public)?.is_none(),
        "a handshake with nobody"
    );
    let _up = scene.node.bring_up(&tunnel)?;
    let answer = get(scene.node.host.namespace(), API_SERVER, 6443)?;
    ensure!(answer.ends_with(&tunnel.address.to_string()), "{answer}");

    let peers = gateway.peers()?;
    let peer = peers
        .iter()
        .find(|it| it.public_key == tunnel.keys.public)
        .context("no peer")?;
    ensure!(peer.handshake.is_some_and(|age| age < PATIENCE), "{peer:?}");
    ensure!(peer.endpoint.is_some_and(|it| it.ip() == VPC_PUBLIC), "{peer:?}");
    ensure!(peer.received > 0 && peer.sent > 0, "{peer:?}");

    gateway.remove_peer(&tunnel.keys.public)?;
    ensure!(
        get(scene.node.host.namespace(), API_SERVER, 6443).is_err(),
        "{TUNNEL_NETWORK} without a peer"
    );
    Ok(())
}

fn lost_packets_to_the_gateway_come_again(scene: &Scene) -> anyhow::Result<()> {
    let tunnel = scene.topology.premises.gateway.admit(3)?;
    let _up = scene.node.bring_up(&tunnel)?;
    let node = scene.node.host.namespace();
    get(node, API_SERVER, 6443)?;
    let blockade = scene.topology.premises.lose_gateway()?;
    ensure!(get(node, API_SERVER, 6443).is_err(), "packets pass a blockade");
    drop(blockade);
    get(node, API_SERVER, 6443)?;
    Ok(())
}

fn lost_packets_to_the_endpoint_come_again(scene: &Scene) -> anyhow::Result<()> {
    let node = scene.node.host.namespace();
    get(node, PREMISES_PUBLIC, 443)?;
    let blockade = scene.topology.premises.lose_endpoint()?;
    ensure!(get(node, PREMISES_PUBLIC, 443).is_err(), "packets pass a blockade");
    get(node, AWS_ENDPOINTS, 443).context("a blockade of something else")?;
    drop(blockade);
    get(node, PREMISES_PUBLIC, 443)?;
    Ok(())
}
