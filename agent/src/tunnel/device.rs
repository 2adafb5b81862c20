//! The WireGuard device: keys and peers. Its crate prints keys under `Debug`, so none of its types is ever printed, and keys
//! become its own type on the last line.

mod difference;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::SystemTime;

use anyhow::Context as _;
use dynk8s_api::wireguard;
use tracing::info;
use wireguard_control::{Backend, Device, DeviceUpdate, InterfaceName, Key, PeerConfigBuilder};

use super::plan::{INTERFACE, Plan};
use difference::{Change, Found, difference};

/// A device that is as planned.
#[derive(Clone, Copy)]
pub(super) struct Applied {
    name: InterfaceName,
    backend: Backend,
}

/// What the device knows about a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerState {
    pub(super) public_key: wireguard::Key,
    pub(super) endpoint: Option<SocketAddr>,
    pub(super) handshake: Option<SystemTime>,
    pub(super) received: u64,
}

/// Makes the device, or what is wrong with the one that is there, as planned. What is right is left alone, for a session
/// that is set up again costs a handshake. Only the kernel's devices are made; one that is there already may have another
/// carrier.
pub(super) fn apply(plan: &Plan) -> anyhow::Result<Applied> {
    let name: InterfaceName = INTERFACE.parse().context("failed to name the interface")?;
    for backend in [Backend::Kernel, Backend::Userspace] {
        if let Ok(device) = Device::get(&name, backend) {
            let changes = difference(&device.into(), plan);
            if !changes.is_empty() {
                info!("the interface `{INTERFACE}` is there but not as it should be; setting it right");
                update(&changes, plan)?
                    .apply(&name, backend)
                    .with_context(|| format!("failed to configure the interface `{INTERFACE}`"))?;
            }
            return Ok(Applied { name, backend });
        }
    }
    let backend = Backend::Kernel;
    match update(&difference(&Found::default(), plan), plan)?.apply(&name, backend) {
        Ok(()) => Ok(Applied { name, backend }),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(error).context(
            "failed to create the interface: this kernel has no WireGuard (load or build its module `wireguard`)",
        ),
        Err(error) => Err(error).with_context(|| format!("failed to create the interface `{INTERFACE}`")),
    }
}

/// In how many places the device that is there is not as planned; `None` where there is none.
pub(super) fn changes(plan: &Plan) -> anyhow::Result<Option<usize>> {
    let Some(there) = find()? else { return Ok(None) };
    let device = Device::get(&there.name, there.backend)
        .with_context(|| format!("failed to read the interface `{INTERFACE}`"))?;
    Ok(Some(difference(&device.into(), plan).len()))
}

/// The device that is there, whoever made it.
pub(super) fn find() -> anyhow::Result<Option<Applied>> {
    let name: InterfaceName = INTERFACE.parse().context("failed to name the interface")?;
    let backends = [Backend::Kernel, Backend::Userspace];
    let found = backends
        .into_iter()
        .find(|backend| Device::get(&name, *backend).is_ok());
    Ok(found.map(|backend| Applied { name, backend }))
}

impl Applied {
    pub(super) fn peers(&self) -> anyhow::Result<Vec<PeerState>> {
        let device = Device::get(&self.name, self.backend)
            .with_context(|| format!("failed to read the interface `{INTERFACE}`"))?;
        let peers = device.peers.iter().filter_map(|peer| {
            Some(PeerState {
                public_key: wireguard::Key::from_base64(&peer.config.public_key.to_base64())?,
                endpoint: peer.config.endpoint,
                handshake: peer.stats.last_handshake_time,
                received: peer.stats.rx_bytes,
            })
        });
        Ok(peers.collect())
    }

    /// When a peer last answered.
    pub(super) fn last_handshake(&self) -> anyhow::Result<Option<SystemTime>> {
        Ok(self.peers()?.iter().filter_map(|it| it.handshake).max())
    }

    /// Tells the device that a peer is elsewhere.
    pub(super) fn move_peer(&self, peer: wireguard::Key, endpoint: SocketAddr) -> anyhow::Result<()> {
        let moved = PeerConfigBuilder::new(&Key(*peer.as_bytes())).set_endpoint(endpoint);
        DeviceUpdate::new()
            .add_peer(moved)
            .apply(&self.name, self.backend)
            .with_context(|| format!("failed to let the peer {peer} be at {endpoint}"))
    }
}

impl fmt::Debug for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(INTERFACE)
    }
}

fn update(changes: &[Change<'_>], plan: &Plan) -> anyhow::Result<DeviceUpdate> {
    let mut update = DeviceUpdate::new();
    for change in changes {
        update = match change {
            Change::PrivateKey => update.set_private_key(key(plan.private_key.expose())?),
            Change::Mark => update.set_fwmark(plan.fwmark.unwrap_or(0)),
            Change::Port(port) => update.set_listen_port(*port),
            Change::Remove(peer) => update.remove_peer_by_key(&Key(*peer)),
            Change::Move(peer, endpoint) => {
                update.add_peer(PeerConfigBuilder::new(&Key(*peer.as_bytes())).set_endpoint(*endpoint))
            }
            Change::Set(peer, endpoint) => {
                let mut builder = PeerConfigBuilder::new(&Key(*peer.public_key.as_bytes()))
                    .set_persistent_keepalive_interval(peer.keepalive)
                    .replace_allowed_ips();
                builder = match &peer.preshared_key {
                    Some(preshared) => builder.set_preshared_key(key(preshared.expose())?),
                    None => builder.unset_preshared_key(),
                };
                if let Some(endpoint) = endpoint {
                    builder = builder.set_endpoint(*endpoint);
                }
                update.add_peer(peer.allowed_ips.iter().fold(builder, |builder, net| {
                    builder.add_allowed_ip(net.addr(), net.prefix_len())
                }))
            }
        };
    }
    Ok(update)
}

fn key(text: &str) -> anyhow::Result<Key> {
    Key::from_base64(text).map_err(|_| anyhow::anyhow!("failed to read a key of the WireGuard configuration"))
}
