//! The premises: a LAN with resolver, the API server's address, and the WireGuard gateway towards the internet.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::addresses::{
    API_SERVER, PREMISES_DOMAIN, PREMISES_GATEWAY, PREMISES_PUBLIC, PRIVATE_NAMES, PUBLIC_NAMES, TUNNEL_PORT,
};
use super::blockade::Blockade;
use super::dns::Dnsmasq;
use super::gateway::Gateway;
use super::internet::Internet;
use super::segment::Segment;
use crate::host::namespace::Namespace;
use crate::host::room::Room;

/// Nothing from the internet is passed on to the LAN or into the tunnel, nor to an address that is not the public one.
fn firewall() -> String {
    format!(
        "table inet firewall {{
            chain input {{
                type filter hook input priority filter;
                iifname \"public\" ip daddr != {PREMISES_PUBLIC} drop
            }}
            chain forward {{
                type filter hook forward priority filter;
                iifname \"public\" drop
            }}
        }}"
    )
}

/// The premises.
#[derive(Debug)]
pub struct Premises {
    pub gateway: Gateway,
    dnsmasq: Dnsmasq,
    lan: Segment,
}

impl Premises {
    pub(super) fn build(internet: &Internet) -> anyhow::Result<Self> {
        let namespace = Arc::new(Namespace::create("onprem")?);
        namespace.forward_packets()?;
        internet.connect(&namespace, PREMISES_PUBLIC)?;
        namespace.nft(&firewall())?;
        let lan = Segment::build(namespace, "lan", &[PREMISES_GATEWAY, API_SERVER], 24)?;
        let names = [PUBLIC_NAMES.as_slice(), &PRIVATE_NAMES].concat();
        let dnsmasq = Dnsmasq::start(lan.namespace(), &[PREMISES_GATEWAY], &names, &[])?;
        let gateway = Gateway::start(lan.namespace().clone())?;
        Ok(Self { gateway, dnsmasq, lan })
    }

    /// Where the control plane and the provisioner run.
    pub fn namespace(&self) -> &Arc<Namespace> {
        self.lan.namespace()
    }

    /// What the resolver was asked.
    pub fn dns_log(&self) -> anyhow::Result<String> {
        self.dnsmasq.log()
    }

    /// A file tree for a program on the premises, with the resolver of the LAN.
    pub fn room(&self, name: &str) -> anyhow::Result<Room> {
        let room = Room::furnish(name, self.namespace().clone())?;
        room.write(
            "/etc/resolv.conf",
            format!("search {PREMISES_DOMAIN}\nnameserver {PREMISES_GATEWAY}\n"),
            0o644,
        )?;
        Ok(room)
    }

    /// Lets packets for the public endpoint get lost, as when the line is down.
    pub fn lose_endpoint(&self) -> anyhow::Result<Blockade> {
        Blockade::raise(self.namespace().clone(), "iifname \"public\" tcp dport 443")
    }

    /// Gives the premises another public address, which they speak from as well.
    pub fn add_public(&self, address: Ipv4Addr) -> anyhow::Result<()> {
        let namespace = self.namespace();
        namespace.ip(&format!(
            "address add {address}/24 dev public\nroute change 198.51.100.0/24 dev public proto kernel scope link src {address}\n"
        ))?;
        namespace.nft(&format!(
            "insert rule inet firewall input iifname \"public\" ip daddr {address} accept"
        ))
    }

    /// Lets packets to and from the gateway get lost, unless they are of an address that was added. What it still sent from
    /// its old one would call the nodes back there.
    pub fn lose_gateway_at_first_address(&self) -> anyhow::Result<[Blockade; 2]> {
        let arriving = format!("iifname \"public\" ip daddr {PREMISES_PUBLIC} udp dport {TUNNEL_PORT}");
        let sent = format!("oifname \"public\" ip saddr {PREMISES_PUBLIC} udp sport {TUNNEL_PORT}");
        Ok([
            Blockade::raise(self.namespace().clone(), &arriving)?,
            Blockade::raise_for_sent(self.namespace().clone(), &sent)?,
        ])
    }

    /// Lets packets for the gateway get lost.
    pub fn lose_gateway(&self) -> anyhow::Result<Blockade> {
        Blockade::raise(
            self.namespace().clone(),
            &format!("iifname \"public\" udp dport {TUNNEL_PORT}"),
        )
    }
}
