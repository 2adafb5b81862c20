//! The VPC: a subnet with router, address translation, DHCP and the resolver that AWS provides.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::addresses::{
    GATEWAY_NAME, IMDS, IMDS_V6, LINK_LOCAL_RESOLVER, PUBLIC_NAMES, VPC_DOMAIN, VPC_FIRST_INSTANCE, VPC_LAST_INSTANCE,
    VPC_NETMASK, VPC_PREFIX, VPC_PREFIX_V6, VPC_PUBLIC, VPC_RESOLVER, VPC_ROUTER, VPC_ROUTER_V6, vpc_v6,
};
use super::blockade::Blockade;
use super::dns::Dnsmasq;
use super::internet::Internet;
use super::segment::Segment;
use crate::host::namespace::Namespace;
use crate::host::room::Room;

const TRANSLATION: &str = "table ip translation {
    chain postrouting {
        type nat hook postrouting priority srcnat;
        oifname \"public\" masquerade
    }
    chain forward {
        type filter hook forward priority filter;
        iifname \"public\" ct state new drop
    }
}";

/// The VPC with its one subnet.
#[derive(Debug)]
pub struct Vpc {
    dnsmasq: Dnsmasq,
    subnet: Segment,
}

/// An instance's place in the subnet without a virtual machine: a network of its own, set up as DHCP would.
#[derive(Debug)]
pub struct Host {
    subnet: Segment,
    namespace: Arc<Namespace>,
    address: Ipv4Addr,
}

impl Vpc {
    pub(super) fn build(internet: &Internet) -> anyhow::Result<Self> {
        let namespace = Arc::new(Namespace::create("vpc")?);
        namespace.forward_packets()?;
        internet.connect(&namespace, VPC_PUBLIC)?;
        namespace.nft(TRANSLATION)?;
        let addresses = [VPC_ROUTER, VPC_RESOLVER, LINK_LOCAL_RESOLVER, IMDS];
        let subnet = Segment::build(namespace, "subnet", &addresses, VPC_PREFIX)?;
        let dnsmasq = Dnsmasq::start(
            subnet.namespace(),
            &[VPC_ROUTER, VPC_RESOLVER, LINK_LOCAL_RESOLVER],
            &PUBLIC_NAMES,
            &dhcp(),
        )?;
        Ok(Self { dnsmasq, subnet })
    }

    /// Where the metadata service listens, and where virtual machines are started.
    pub fn namespace(&self) -> &Arc<Namespace> {
        self.subnet.namespace()
    }

    /// Lets the gateway's name lead to this address; the resolver of the premises is not told.
    pub fn move_gateway(&self, address: Ipv4Addr) -> anyhow::Result<()> {
        let moved = |name| if name == GATEWAY_NAME { Some(address) } else { None };
        let names = PUBLIC_NAMES.map(|(name, address)| (name, moved(name).unwrap_or(address)));
        self.dnsmasq.rename(&names)
    }

    /// Gives the subnet IPv6 and the metadata service its address there.
    pub fn speak_ipv6(&self) -> anyhow::Result<()> {
        let bridge = self.subnet.bridge();
        self.namespace().ip(&format!(
            "address replace {VPC_ROUTER_V6}/{VPC_PREFIX_V6} dev {bridge} nodad\naddress replace {IMDS_V6}/128 dev {bridge} nodad\n"
        ))
    }

    /// Lets packets of the tunnel that are longer than this get lost, both ways: a black hole.
    pub fn lose_long_packets(&self, longest: u16) -> anyhow::Result<Blockade> {
        let expression = format!("meta l4proto udp ip length > {longest}");
        Blockade::raise(self.namespace().clone(), &expression)
    }

    /// What the resolver and the DHCP server did.
    pub fn dns_log(&self) -> anyhow::Result<String> {
        self.dnsmasq.log()
    }

    /// A tap device in the subnet for a virtual machine, whose card `mac` will be given `address` by DHCP.
    pub fn tap(&self, name: &str, mac: &str, address: Ipv4Addr) -> anyhow::Result<()> {
        self.dnsmasq.reserve(mac, address)?;
        self.subnet.tap(name)
    }

    /// A place in the subnet for an agent without a virtual machine; its interface is "ens5", as on AWS.
    ///
    /// `name` becomes that of a namespace and of a port: at most 15 characters.
    pub fn host(&self, name: &str, mac: &str, address: Ipv4Addr) -> anyhow::Result<Host> {
        let namespace = Arc::new(Namespace::create(name)?);
        self.dnsmasq.reserve(mac, address)?;
        self.subnet.attach(&namespace, "ens5", address, Some(mac))?;
        namespace.ip(&format!("route add default via {VPC_ROUTER} dev ens5 src {address}"))?;
        Ok(Host {
            subnet: self.subnet.clone(),
            namespace,
            address,
        })
    }
}

impl Host {
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Gives it IPv6 as well, in a subnet that has it.
    pub fn speak_ipv6(&self) -> anyhow::Result<()> {
        let address = vpc_v6(self.address);
        self.namespace.ip(&format!(
            "address add {address}/{VPC_PREFIX_V6} dev ens5 nodad\nroute add default via {VPC_ROUTER_V6} dev ens5\n"
        ))
    }

    /// A file tree for the agent, with the resolver that DHCP gives.
    pub fn room(&self) -> anyhow::Result<Room> {
        let room = Room::furnish(self.namespace.name(), self.namespace.clone())?;
        room.write(
            "/etc/resolv.conf",
            format!("search {VPC_DOMAIN}\nnameserver {VPC_RESOLVER}\n"),
            0o644,
        )?;
        Ok(room)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A room may keep the namespace for a while; the next instance of this name needs the port.
        if let Err(error) = self.subnet.detach(self.namespace.name()) {
            tracing::warn!("{error:#}");
        }
    }
}

fn dhcp() -> Vec<String> {
    vec![
        format!("--dhcp-range={VPC_FIRST_INSTANCE},{VPC_LAST_INSTANCE},{VPC_NETMASK},3600"),
        format!("--dhcp-option=option:router,{VPC_ROUTER}"),
        format!("--dhcp-option=option:dns-server,{VPC_RESOLVER}"),
        format!("--dhcp-option=option:domain-name,{VPC_DOMAIN}"),
        // On AWS it is half an hour. Here no machine lives so long, and every one shall see its lease renewed.
        "--dhcp-option=option:T1,20".to_owned(),
        "--dhcp-authoritative".to_owned(),
        "--no-ping".to_owned(),
        "--log-dhcp".to_owned(),
    ]
}
