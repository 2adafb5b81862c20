//! A bridge in a namespace, with a cable to whoever is attached.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::host::namespace::Namespace;

/// One Ethernet segment.
#[derive(Debug, Clone)]
pub struct Segment {
    namespace: Arc<Namespace>,
    bridge: &'static str,
    prefix: u8,
}

impl Segment {
    /// Makes the bridge; the first address has the segment's prefix, the others are host addresses.
    pub(super) fn build(
        namespace: Arc<Namespace>,
        bridge: &'static str,
        addresses: &[Ipv4Addr],
        prefix: u8,
    ) -> anyhow::Result<Self> {
        let lengths = std::iter::once(prefix).chain(std::iter::repeat(32));
        let given = addresses
            .iter()
            .zip(lengths)
            .map(|(address, length)| format!("address add {address}/{length} dev {bridge}\n"));
        let made = format!("link add {bridge} type bridge\nlink set {bridge} up\n");
        namespace.ip(&std::iter::once(made).chain(given).collect::<String>())?;
        Ok(Self {
            namespace,
            bridge,
            prefix,
        })
    }

    pub(super) fn bridge(&self) -> &'static str {
        self.bridge
    }

    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Lays a cable to `other`, where its end is called `interface`; the port on the bridge is called as the other namespace.
    pub(super) fn attach(
        &self,
        other: &Namespace,
        interface: &str,
        address: Ipv4Addr,
        mac: Option<&str>,
    ) -> anyhow::Result<()> {
        let (port, bridge, prefix) = (other.name(), self.bridge, self.prefix);
        self.namespace.ip(&format!(
            "link add {port} type veth peer name {interface} netns {port}\nlink set {port} master {bridge}\nlink set {port} up\n"
        ))?;
        let mac = mac
            .map(|mac| format!("link set {interface} address {mac}\n"))
            .unwrap_or_default();
        other.ip(&format!(
            "{mac}address add {address}/{prefix} dev {interface}\nlink set {interface} up\n"
        ))
    }

    /// Makes a tap device on the bridge, for a virtual machine started in the segment's namespace.
    pub(super) fn tap(&self, name: &str) -> anyhow::Result<()> {
        let bridge = self.bridge;
        self.namespace.ip(&format!(
            "tuntap add {name} mode tap\nlink set {name} master {bridge}\nlink set {name} up\n"
        ))
    }

    /// Cuts whatever is attached under this name.
    pub(super) fn detach(&self, name: &str) -> anyhow::Result<()> {
        self.namespace.ip(&format!("link delete {name}\n"))
    }
}
