//! The WireGuard gateway: the kernel's where the host has it, else `wireguard-go`.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use super::addresses::{
    GATEWAY_NAME, PREMISES_DOMAIN, PREMISES_GATEWAY, PREMISES_NETWORK, TUNNEL_GATEWAY, TUNNEL_MTU, TUNNEL_NETWORK,
    TUNNEL_PORT,
};
use super::user_space;
use crate::host::command;
use crate::host::containment::SCRATCH;
use crate::host::namespace::Namespace;
use crate::host::process::Process;

const DEVICE: &str = "gateway";

/// The gateway on the premises.
#[derive(Debug)]
pub struct Gateway {
    /// The implementation in user space, if it is one.
    process: Option<Process>,
    namespace: Arc<Namespace>,
    public_key: String,
}

/// A key pair of WireGuard, in base64.
#[derive(Clone)]
pub struct KeyPair {
    pub private: String,
    pub public: String,
}

/// A node's side of the tunnel.
#[derive(Debug, Clone)]
pub struct Tunnel {
    pub keys: KeyPair,
    pub address: Ipv4Addr,
    gateway_key: String,
}

/// A peer as the gateway sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub public_key: String,
    pub endpoint: Option<SocketAddr>,
    pub allowed: String,
    /// The age of the last handshake.
    pub handshake: Option<Duration>,
    pub received: u64,
    pub sent: u64,
}

impl Gateway {
    pub(super) fn start(namespace: Arc<Namespace>) -> anyhow::Result<Self> {
        let process = if namespace.ip(&format!("link add {DEVICE} type wireguard")).is_ok() {
            None
        } else {
            let log = Path::new(SCRATCH).join("wireguard-go.log");
            Some(user_space::carry(
                DEVICE,
                &log,
                &namespace.spawner(),
                user_space::connect,
            )?)
        };
        let keys = KeyPair::generate()?;
        let gateway = Self {
            process,
            namespace,
            public_key: keys.public,
        };
        gateway.wg(
            &[
                "set",
                DEVICE,
                "listen-port",
                &TUNNEL_PORT.to_string(),
                "private-key",
                "/dev/stdin",
            ],
            &keys.private,
        )?;
        gateway.namespace.ip(&format!(
            "address add {TUNNEL_GATEWAY}/24 dev {DEVICE}\nlink set {DEVICE} mtu {TUNNEL_MTU} up\n"
        ))?;
        Ok(gateway)
    }

    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    /// Whether it runs in user space, because the host's kernel has no WireGuard.
    pub fn is_in_user_space(&self) -> bool {
        self.process.is_some()
    }

    /// Admits a node with new keys and the tunnel address `10.98.0.<number>`.
    pub fn admit(&self, number: u8) -> anyhow::Result<Tunnel> {
        let keys = KeyPair::generate()?;
        let [a, b, c, _] = TUNNEL_GATEWAY.octets();
        let address = Ipv4Addr::new(a, b, c, number);
        self.add_peer(&keys.public, address)?;
        Ok(Tunnel {
            keys,
            address,
            gateway_key: self.public_key.clone(),
        })
    }

    pub fn add_peer(&self, public_key: &str, address: Ipv4Addr) -> anyhow::Result<()> {
        self.wg(
            &[
                "set",
                DEVICE,
                "peer",
                public_key,
                "allowed-ips",
                &format!("{address}/32"),
            ],
            "",
        )
        .map(drop)
    }

    pub fn remove_peer(&self, public_key: &str) -> anyhow::Result<()> {
        self.wg(&["set", DEVICE, "peer", public_key, "remove"], "").map(drop)
    }

    pub fn peers(&self) -> anyhow::Result<Vec<Peer>> {
        let dump = self.wg(&["show", DEVICE, "dump"], "")?;
        dump.lines().skip(1).map(read_peer).collect()
    }

    /// The age of the last handshake with a peer, if there was one.
    pub fn handshake_age(&self, public_key: &str) -> anyhow::Result<Option<Duration>> {
        Ok(self
            .peers()?
            .into_iter()
            .find(|peer| peer.public_key == public_key)
            .and_then(|peer| peer.handshake))
    }

    fn wg(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut wg = Command::new("wg");
        wg.args(arguments);
        self.namespace
            .run(|| command::feed(&mut wg, input))
            .context("failed to enter the gateway's namespace")?
    }
}

impl KeyPair {
    pub fn generate() -> anyhow::Result<Self> {
        let private = command::run(Command::new("wg").arg("genkey"))
            .context("failed to make a WireGuard key: install `wireguard-tools`")?;
        let public = command::feed(Command::new("wg").arg("pubkey"), &private)?;
        Ok(Self {
            private: private.trim().to_owned(),
            public: public.trim().to_owned(),
        })
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyPair")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

impl Tunnel {
    /// The complete wg-quick document for the node.
    pub fn document(&self) -> String {
        self.document_for(&format!("{TUNNEL_NETWORK}, {PREMISES_NETWORK}"))
    }

    /// The same for a node that reaches these networks through it.
    pub fn document_for(&self, networks: &str) -> String {
        let Self {
            keys,
            address,
            gateway_key,
        } = self;
        format!(
            "[Interface]\nPrivateKey = {}\nAddress = {address}/24\nDNS = {PREMISES_GATEWAY}, {PREMISES_DOMAIN}\nMTU = {TUNNEL_MTU}\n\n\
             [Peer]\nPublicKey = {gateway_key}\nEndpoint = {GATEWAY_NAME}:{TUNNEL_PORT}\nAllowedIPs = {networks}\n\
             PersistentKeepalive = 25\n",
            keys.private
        )
    }
}

/// One line of `wg show DEVICE dump`.
fn read_peer(line: &str) -> anyhow::Result<Peer> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [
        public_key,
        _preshared,
        endpoint,
        allowed,
        handshake,
        received,
        sent,
        _keepalive,
    ] = fields.as_slice()
    else {
        bail!(
            "failed to read a peer of the gateway: {} fields in place of 8",
            fields.len()
        );
    };
    let shaken = Duration::from_secs(handshake.parse().context("failed to read the time of a handshake")?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Peer {
        public_key: (*public_key).to_owned(),
        endpoint: endpoint.parse().ok(),
        allowed: (*allowed).to_owned(),
        handshake: (!shaken.is_zero()).then(|| now.saturating_sub(shaken)),
        received: received.parse().context("failed to read a peer's received bytes")?,
        sent: sent.parse().context("failed to read a peer's sent bytes")?,
    })
}
