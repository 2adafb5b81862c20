//! The WireGuard device: keys and peers, in the kernel. Its crate prints keys under `Debug`, so none of its types is
//! ever printed, and keys become its own type on the last line.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use ipnet::IpNet;
use tracing::{info, warn};
use wireguard_control::{Backend, Device, DeviceUpdate, InterfaceName, Key, PeerConfig, PeerConfigBuilder};

use super::plan::{INTERFACE, PeerPlan, Plan};

/// The program that carries WireGuard where the kernel does not: a laboratory's way, for it would die with the unit.
const USERSPACE: &str = "wireguard-go";

/// A device that is as planned.
#[derive(Clone, Copy)]
pub(super) struct Applied {
    name: InterfaceName,
    backend: Backend,
}

/// Makes the device, or what is wrong with the one that is there, as planned. A right one is left alone, for applying
/// the same again would end its sessions.
pub(super) fn apply(plan: &Plan) -> anyhow::Result<Applied> {
    let name: InterfaceName = INTERFACE.parse().context("failed to name the interface")?;
    for backend in [Backend::Userspace, Backend::Kernel] {
        if let Ok(device) = Device::get(&name, backend) {
            if !is_as_planned(&device, plan) {
                info!("the interface `{INTERFACE}` is there but not as it should be; setting it right");
                set(&name, plan, backend)?;
            }
            return Ok(Applied { name, backend });
        }
    }
    match update(plan)?.apply(&name, Backend::Kernel) {
        Ok(()) => Ok(Applied {
            name,
            backend: Backend::Kernel,
        }),
        Err(error) if error.kind() == io::ErrorKind::Unsupported && is_in_path(USERSPACE) => {
            warn!(
                "this kernel has no WireGuard; taking `{USERSPACE}`, which is for laboratories and not for production"
            );
            let backend = Backend::Userspace;
            set(&name, plan, backend)?;
            Ok(Applied { name, backend })
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(error).context(
            "failed to create the interface: this kernel has no WireGuard (load or build its module `wireguard`)",
        ),
        Err(error) => Err(error).with_context(|| format!("failed to create the interface `{INTERFACE}`")),
    }
}

impl Applied {
    /// When a peer last answered.
    pub(super) fn last_handshake(&self) -> anyhow::Result<Option<SystemTime>> {
        let device = Device::get(&self.name, self.backend)
            .with_context(|| format!("failed to read the interface `{INTERFACE}`"))?;
        Ok(device
            .peers
            .iter()
            .filter_map(|peer| peer.stats.last_handshake_time)
            .max())
    }
}

fn set(name: &InterfaceName, plan: &Plan, backend: Backend) -> anyhow::Result<()> {
    update(plan)?
        .apply(name, backend)
        .with_context(|| format!("failed to configure the interface `{INTERFACE}`"))
}

fn update(plan: &Plan) -> anyhow::Result<DeviceUpdate> {
    let mut update = DeviceUpdate::new()
        .set_private_key(key(plan.private_key.expose())?)
        .set_fwmark(plan.fwmark.unwrap_or(0))
        .replace_peers();
    if let Some(port) = plan.listen_port {
        update = update.set_listen_port(port);
    }
    for peer in &plan.peers {
        update = update.add_peer(builder(peer)?);
    }
    Ok(update)
}

fn builder(peer: &PeerPlan) -> anyhow::Result<PeerConfigBuilder> {
    let mut builder = PeerConfigBuilder::new(&Key(*peer.public_key.as_bytes()))
        .set_persistent_keepalive_interval(peer.keepalive)
        .replace_allowed_ips();
    if let Some(preshared) = &peer.preshared_key {
        builder = builder.set_preshared_key(key(preshared.expose())?);
    }
    if let Some(endpoint) = peer.endpoint {
        builder = builder.set_endpoint(endpoint);
    }
    Ok(peer.allowed_ips.iter().fold(builder, |builder, net| {
        builder.add_allowed_ip(net.addr(), net.prefix_len())
    }))
}

fn key(text: &str) -> anyhow::Result<Key> {
    Key::from_base64(text).map_err(|_| anyhow::anyhow!("failed to read a key of the WireGuard configuration"))
}

fn is_as_planned(device: &Device, plan: &Plan) -> bool {
    let Ok(private_key) = key(plan.private_key.expose()) else {
        return false;
    };
    device.private_key == Some(private_key)
        && device.fwmark.unwrap_or(0) == plan.fwmark.unwrap_or(0)
        && plan.listen_port.is_none_or(|port| device.listen_port == Some(port))
        && device.peers.len() == plan.peers.len()
        && plan
            .peers
            .iter()
            .all(|planned| device.peers.iter().any(|it| is_peer(&it.config, planned)))
}

fn is_peer(peer: &PeerConfig, planned: &PeerPlan) -> bool {
    let preshared = planned.preshared_key.as_ref().and_then(|it| key(it.expose()).ok());
    let networks = |mut list: Vec<IpNet>| {
        list.sort_unstable();
        list.dedup();
        list
    };
    let there = peer
        .allowed_ips
        .iter()
        .filter_map(|it| IpNet::new(it.address, it.cidr).ok());
    peer.public_key.as_bytes() == planned.public_key.as_bytes()
        && peer.preshared_key.clone().filter(|it| *it != Key::zero()) == preshared
        && peer.endpoint == planned.endpoint
        && peer.persistent_keepalive_interval.unwrap_or(0) == planned.keepalive
        && networks(there.collect()) == networks(planned.allowed_ips.clone())
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder: std::path::PathBuf| Path::new(&folder).join(program).is_file())
}
