//! Links and addresses, by rtnetlink.

use std::net::IpAddr;

use anyhow::{Context as _, anyhow};
use futures_util::TryStreamExt as _;
use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::AddressMessage;
use rtnetlink::packet_route::link::{LinkFlags, LinkMessage};
use rtnetlink::packet_route::route::RouteMessage;
use rtnetlink::{Handle, LinkUnspec};

use super::message::{destination, gateway, is_link_local, metric, mtu, name, network, output, table};
use super::plan::{INTERFACE, MAIN_TABLE, Plan};

/// `EEXIST` of `errno(3)`, as netlink reports it.
pub(super) const EXISTS: i32 = -17;

/// `ENODEV`: there is no interface of this name or number.
const NO_DEVICE: i32 = -19;

/// The interface that has the default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UplinkLink {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) mtu: u32,
    pub(crate) networks: Vec<IpNet>,
    /// At most one a family.
    pub(crate) gateways: Vec<IpAddr>,
}

/// A connection to the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Netlink {
    pub(super) handle: Handle,
}

impl Netlink {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let (connection, handle, _) = rtnetlink::new_connection().context("failed to open a netlink socket")?;
        tokio::spawn(connection);
        Ok(Self { handle })
    }

    /// Finds the interface below the tunnel.
    pub(crate) async fn uplink(&self) -> anyhow::Result<UplinkLink> {
        let routes = self.routes().await?;
        let mut defaults: Vec<&RouteMessage> = routes
            .iter()
            .filter(|it| table(it) == MAIN_TABLE && destination(it).is_some_and(|it| it.prefix_len() == 0))
            .filter(|it| gateway(it).is_some())
            .collect();
        defaults.sort_by_key(|it| (it.header.address_family != AddressFamily::Inet, metric(it)));
        let index = defaults
            .first()
            .and_then(|it| output(it))
            .ok_or_else(|| anyhow!("failed to find the VPC's interface: there is no default route"))?;
        let mut gateways: Vec<IpAddr> = Vec::new();
        for found in defaults
            .iter()
            .filter(|it| output(it) == Some(index))
            .filter_map(|it| gateway(it))
        {
            if gateways.iter().all(|it| it.is_ipv4() != found.is_ipv4()) {
                gateways.push(found);
            }
        }
        let link = self.link_by(self.handle.link().get().match_index(index)).await?;
        let link = link.with_context(|| format!("failed to find the interface number {index}"))?;
        Ok(UplinkLink {
            index,
            name: name(&link).unwrap_or_default(),
            mtu: mtu(&link).unwrap_or(1500),
            networks: self.addresses(index).await?.iter().filter_map(network).collect(),
            gateways,
        })
    }

    /// Makes link, addresses, routes and rules as planned, and returns the link's index.
    pub(super) async fn apply(&self, plan: &Plan, uplink: &UplinkLink) -> anyhow::Result<u32> {
        let link = self
            .link_by(self.handle.link().get().match_name(INTERFACE.to_owned()))
            .await?;
        let link = link.with_context(|| format!("failed to find the interface `{INTERFACE}` again"))?;
        let index = link.header.index;
        self.set_addresses(index, &plan.addresses).await?;
        if mtu(&link) != Some(plan.mtu) || !link.header.flags.contains(LinkFlags::Up) {
            self.set_mtu(index, plan.mtu).await?;
        }
        self.set_routes(index, uplink, &plan.routing).await?;
        self.set_rules(plan.routing.policy).await?;
        Ok(index)
    }

    /// Removes the interface, and its addresses with it; tells whether there was one.
    pub(super) async fn remove_link(&self) -> anyhow::Result<bool> {
        let found = self
            .link_by(self.handle.link().get().match_name(INTERFACE.to_owned()))
            .await?;
        let Some(link) = found else { return Ok(false) };
        let removed = self.handle.link().del(link.header.index).execute().await;
        removed.with_context(|| format!("failed to remove the interface `{INTERFACE}`"))?;
        Ok(true)
    }

    /// Brings the interface up with this MTU.
    pub(super) async fn set_mtu(&self, index: u32, mtu: u32) -> anyhow::Result<()> {
        let message = LinkUnspec::new_with_index(index).mtu(mtu).up().build();
        let set = self.handle.link().set(message).execute().await;
        set.with_context(|| format!("failed to bring the interface `{INTERFACE}` up with an MTU of {mtu}"))
    }

    async fn set_addresses(&self, index: u32, planned: &[IpNet]) -> anyhow::Result<()> {
        let there = self.addresses(index).await?;
        for message in &there {
            if network(message).is_some_and(|it| !planned.contains(&it) && !is_link_local(it.addr())) {
                let removed = self.handle.address().del(message.clone()).execute().await;
                removed.with_context(|| format!("failed to remove an address from the interface `{INTERFACE}`"))?;
            }
        }
        let there: Vec<IpNet> = there.iter().filter_map(network).collect();
        for address in planned.iter().filter(|it| !there.contains(it)) {
            let add = self.handle.address().add(index, address.addr(), address.prefix_len());
            let added = add.execute().await;
            added.with_context(|| format!("failed to give the interface `{INTERFACE}` the address `{address}`"))?;
        }
        Ok(())
    }

    async fn link_by(&self, request: rtnetlink::LinkGetRequest) -> anyhow::Result<Option<LinkMessage>> {
        match request.execute().try_next().await {
            Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == NO_DEVICE => Ok(None),
            outcome => outcome.context("failed to read an interface"),
        }
    }

    async fn addresses(&self, index: u32) -> anyhow::Result<Vec<AddressMessage>> {
        let all = self.handle.address().get().set_link_index_filter(index).execute();
        all.try_collect()
            .await
            .context("failed to read an interface's addresses")
    }
}
