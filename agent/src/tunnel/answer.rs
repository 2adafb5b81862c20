//! Waiting for the other side: an interface with wrong keys looks perfectly up.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use anyhow::bail;
use dynk8s_api::wireguard::Key;
use jiff::SignedDuration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;
use wireguard_control as control;

use super::decide::{self, Probe, Silence, SilentPeer};
use super::device::Applied;
use super::echo::Echo;
use super::mtu::SMALL;
use super::plan::Plan;

/// A session lives so long; an older handshake proves nothing.
const SESSION: Duration = Duration::from_mins(3);

const POLL: Duration = Duration::from_millis(100);

/// Where a name has several addresses, each is given so long.
const TURN: Duration = Duration::from_secs(8);

/// How long an error or an echo may take to come back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until a peer has answered, or says why none does, as far as that can be known. `behind` are machines behind the
/// tunnel; `skew` is how far this machine's
/// clock is ahead of the provisioner's.
pub(super) async fn wait(
    device: &Applied,
    plan: &Plan,
    behind: &[IpAddr],
    deadline: Instant,
    skew: Option<SignedDuration>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut turns = 0;
    begin(plan, behind).await;
    loop {
        let fresh = device
            .last_handshake()?
            .is_some_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() < SESSION);
        if fresh {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!(decide::explain(&silence(device, plan, skew).await?));
        }
        if began.elapsed() >= TURN * (turns + 1) {
            turns += 1;
            try_next(device, plan, usize::try_from(turns).unwrap_or_default())?;
        }
        sleep(POLL).await;
    }
}

/// Where keepalives are off, a handshake needs a packet to begin.
async fn begin(plan: &Plan, behind: &[IpAddr]) {
    if plan.peers.iter().all(|it| it.keepalive == 0)
        && let Some(echo) = behind.first().and_then(|it| Echo::open(*it).ok())
        && let Err(error) = echo.ask(SMALL).await
    {
        debug!("failed to begin a handshake: {error}");
    }
}

fn try_next(device: &Applied, plan: &Plan, turn: usize) -> anyhow::Result<()> {
    for peer in plan.peers.iter().filter(|it| it.endpoints.len() > 1) {
        let endpoint = peer.endpoints[turn % peer.endpoints.len()];
        device.move_peer(peer.public_key, endpoint)?;
    }
    Ok(())
}

async fn silence(device: &Applied, plan: &Plan, skew: Option<SignedDuration>) -> anyhow::Result<Silence> {
    let mut peers = Vec::new();
    for peer in device.peers()? {
        let place = match peer.endpoint {
            Some(endpoint) => Some((endpoint, probe(endpoint).await)),
            None => None,
        };
        peers.push(SilentPeer {
            public_key: peer.public_key,
            place,
            received: peer.received,
        });
    }
    Ok(Silence {
        ours: public_key(plan),
        peers,
        skew,
    })
}

/// Our own public key, by which the gateway knows this node.
fn public_key(plan: &Plan) -> Option<Key> {
    let key = control::Key::from_base64(plan.private_key.expose()).ok()?;
    Key::from_base64(&key.get_public().to_base64())
}

/// What the network says to a datagram, and the machine to a ping. WireGuard itself is silent to strangers.
async fn probe(endpoint: SocketAddr) -> Probe {
    match timeout(PATIENCE, complaint(endpoint)).await {
        Ok(error) if error.kind() == io::ErrorKind::ConnectionRefused => Probe::Refused,
        Ok(error) => Probe::Unreachable(error.to_string()),
        Err(_) => Probe::Silent {
            ping: answers_ping(endpoint.ip()).await,
        },
    }
}

async fn complaint(endpoint: SocketAddr) -> io::Error {
    let any: IpAddr = match endpoint {
        SocketAddr::V4(_) => [0; 4].into(),
        SocketAddr::V6(_) => [0_u16; 8].into(),
    };
    let asked = async {
        let socket = UdpSocket::bind((any, 0)).await?;
        socket.connect(endpoint).await?;
        socket.send(&[0]).await?;
        socket.recv(&mut [0; 16]).await
    };
    match asked.await {
        Err(error) => error,
        // Whoever answers this is no WireGuard.
        Ok(_) => io::ErrorKind::ConnectionRefused.into(),
    }
}

async fn answers_ping(address: IpAddr) -> bool {
    let Ok(echo) = Echo::open(address) else { return false };
    echo.ask(SMALL).await.is_ok() && echo.answer(PATIENCE).await.is_some()
}
