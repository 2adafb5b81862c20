//! The third step: the WireGuard tunnel, through netlink. It is up when the other side has answered.

mod answer;
mod decide;
mod device;
mod echo;
mod endpoint;
mod foresee;
mod keep;
mod link;
mod message;
mod mtu;
mod plan;
mod render;
mod routes;
mod rules;

use std::net::IpAddr;
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use dynk8s_api::Secret;
use dynk8s_api::wireguard::Document;
use ipnet::IpNet;
use jiff::SignedDuration;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::timeline::Recorder;
use crate::uplink::Uplink;

pub(crate) use foresee::{below, foresee};
pub(crate) use keep::Kept;
pub(crate) use link::{Netlink, UplinkLink};
pub(crate) use plan::INTERFACE;

use device::Applied;
use plan::{Below, Plan};

/// What an error of a document begins with that does not fit this machine.
const UNFIT: &str = "failed to apply the key's WireGuard configuration";

/// What the tunnel must leave to the network below it, and what else its making needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    /// The resolvers that DHCP gave.
    pub(crate) uplink: &'a Uplink,
    /// The VPC's own networks.
    pub(crate) vpc: &'a [IpNet],
    /// The provisioner's name.
    pub(crate) provisioner: &'a str,
    /// How far this machine's clock is ahead of the provisioner's, if it was ever heard.
    pub(crate) skew: Option<SignedDuration>,
}

/// A tunnel whose other side has answered.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    /// The index of its interface.
    pub(crate) index: u32,
    /// The node's address.
    pub(crate) address: IpAddr,
    /// Who answers, for people.
    pub(crate) peer: String,
    /// The on-premises DNS servers, at least one.
    pub(crate) dns: Vec<IpAddr>,
    /// Search domains.
    pub(crate) search: Vec<String>,
    /// The interface below it.
    pub(crate) uplink: UplinkLink,
    document: Document,
    plan: Plan,
    device: Applied,
}

/// Brings the tunnel up as the document says, or leaves it alone if it is as it should be.
pub(crate) async fn up(
    text: &Secret,
    around: Surroundings<'_>,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<Tunnel> {
    let document = read(text)?;
    let netlink = Netlink::open()?;
    let (endpoints, provisioner) = tokio::join!(
        endpoint::resolve(&document, around.uplink, deadline, recorder),
        around.uplink.resolve(around.provisioner),
    );
    let uplink = netlink.uplink().await?;
    let below = surveyed(around, &uplink, provisioner);
    let mut plan = plan::plan(&document, &endpoints?, &below).context(UNFIT)?;
    let device = device::apply(&plan)?;
    let index = netlink.apply(&plan, &uplink).await?;
    answer::wait(&device, &plan, &document.interface.dns, deadline, around.skew).await?;
    if let Some(smaller) = mtu::smaller(&document.interface.dns, plan.mtu).await {
        warn!(
            "packets of {} bytes get lost in the tunnel, those of {smaller} pass: taking {smaller} as its MTU; write `MTU = \
             {smaller}` into the key's WireGuard configuration, or mend the way to the gateway",
            plan.mtu
        );
        plan.mtu = smaller;
        netlink.set_mtu(index, smaller).await?;
    }
    let interface = &document.interface;
    Ok(Tunnel {
        index,
        address: interface.addresses[0].addr(),
        peer: peers(&device)?,
        dns: interface.dns.clone(),
        search: interface.search.clone(),
        uplink,
        document,
        plan,
        device,
    })
}

/// Takes away the interface, and every route and rule of ours, also those outside of it; tells whether there was an interface.
pub(crate) async fn remove() -> anyhow::Result<bool> {
    let netlink = Netlink::open()?;
    netlink.set_rules(None).await?;
    netlink.remove_routes(&[]).await?;
    netlink.remove_link().await
}

/// When the other side of the interface that is there last answered; `None` where there is no such interface.
pub(crate) fn last_handshake() -> anyhow::Result<Option<SystemTime>> {
    device::find()?.map_or(Ok(None), |it| it.last_handshake())
}

fn surveyed(around: Surroundings<'_>, uplink: &UplinkLink, provisioner: anyhow::Result<Vec<IpAddr>>) -> Below {
    Below {
        mtu: uplink.mtu,
        networks: uplink.networks.clone(),
        gateways: uplink.gateways.clone(),
        vpc: around.vpc.to_vec(),
        resolvers: around.uplink.servers().unwrap_or_default(),
        // After a reboot the provisioner may be gone, and nothing but reports needs it.
        provisioner: provisioner.unwrap_or_else(|error| {
            debug!("{error:#}");
            Vec::new()
        }),
    }
}

fn read(text: &Secret) -> anyhow::Result<Document> {
    const FAILED: &str = "failed to read the key's WireGuard configuration";
    let document = Document::parse(text.expose()).context(FAILED)?;
    if document.interface.dns.is_empty() {
        bail!("{FAILED}: `DNS` is missing, and the node needs an on-premises resolver");
    }
    Ok(document)
}

fn peers(device: &Applied) -> anyhow::Result<String> {
    let peers = device.peers()?;
    let peers = peers.iter().map(|peer| match peer.endpoint {
        Some(endpoint) => format!("peer {} at {endpoint}", peer.public_key),
        None => format!("peer {} without an endpoint", peer.public_key),
    });
    Ok(peers.collect::<Vec<_>>().join(", "))
}
