//! Links, addresses and routes, by rtnetlink. Routes are added, never replaced: a route that is there already belongs to
//! somebody, and replacing it can take the VPC's own away for good.

use std::net::IpAddr;

use anyhow::{Context as _, anyhow, bail};
use futures_util::TryStreamExt as _;
use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::AddressMessage;
use rtnetlink::packet_route::link::{LinkFlags, LinkMessage};
use rtnetlink::packet_route::route::{RouteMessage, RouteProtocol, RouteScope};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use tracing::info;

use super::message::{destination, gateway, is_link_local, metric, mtu, name, network, output, table};
use super::plan::{INTERFACE, Plan};

/// `RT_TABLE_MAIN` of `rtnetlink(7)`.
const MAIN_TABLE: u32 = 254;

/// `EEXIST` of `errno(3)`, as netlink reports it.
const EXISTS: i32 = -17;

/// The interface that has the default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UplinkLink {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) mtu: u32,
    pub(crate) networks: Vec<IpNet>,
}

/// A connection to the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Netlink {
    handle: Handle,
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
        let default = routes
            .iter()
            .filter(|it| it.header.destination_prefix_length == 0 && table(it) == MAIN_TABLE)
            .filter(|it| gateway(it))
            .min_by_key(|it| (it.header.address_family != AddressFamily::Inet, metric(it)));
        let index = default
            .and_then(output)
            .ok_or_else(|| anyhow!("failed to find the VPC's interface: there is no default route"))?;
        let link = self.link_by(self.handle.link().get().match_index(index)).await?;
        let link = link.with_context(|| format!("failed to find the interface number {index}"))?;
        Ok(UplinkLink {
            index,
            name: name(&link).unwrap_or_default(),
            mtu: mtu(&link).unwrap_or(1500),
            networks: self.addresses(index).await?.iter().filter_map(network).collect(),
        })
    }

    /// Makes link, addresses and routes as planned, and returns the link's index.
    pub(super) async fn apply(&self, plan: &Plan) -> anyhow::Result<u32> {
        let link = self
            .link_by(self.handle.link().get().match_name(INTERFACE.to_owned()))
            .await?;
        let link = link.with_context(|| format!("failed to find the interface `{INTERFACE}` again"))?;
        let index = link.header.index;
        self.set_addresses(index, &plan.addresses).await?;
        if mtu(&link) != Some(plan.mtu) || !link.header.flags.contains(LinkFlags::Up) {
            let message = LinkUnspec::new_with_index(index).mtu(plan.mtu).up().build();
            let set = self.handle.link().set(message).execute().await;
            set.with_context(|| {
                format!(
                    "failed to bring the interface `{INTERFACE}` up with an MTU of {}",
                    plan.mtu
                )
            })?;
        }
        self.set_routes(index, plan).await?;
        Ok(index)
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

    async fn set_routes(&self, index: u32, plan: &Plan) -> anyhow::Result<()> {
        let wanted = plan.table.unwrap_or(MAIN_TABLE);
        for route in self.routes().await? {
            let ours = output(&route) == Some(index) && route.header.protocol == RouteProtocol::Static;
            let planned = table(&route) == wanted && destination(&route).is_some_and(|it| plan.routes.contains(&it));
            if ours && !planned {
                info!("removing a route through `{INTERFACE}` that is no longer wanted");
                let removed = self.handle.route().del(route).execute().await;
                removed.with_context(|| format!("failed to remove a route through `{INTERFACE}`"))?;
            }
        }
        for network in &plan.routes {
            self.add_route(index, *network, wanted).await?;
        }
        Ok(())
    }

    async fn add_route(&self, index: u32, network: IpNet, wanted: u32) -> anyhow::Result<()> {
        let message = RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(network.addr(), network.prefix_len())
            .with_context(|| format!("failed to make a route to `{network}`"))?
            .output_interface(index)
            .table_id(wanted)
            .protocol(RouteProtocol::Static)
            .scope(RouteScope::Link)
            .build();
        match self.handle.route().add(message).execute().await {
            Ok(()) => Ok(()),
            Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == EXISTS => {
                let routes = self.routes().await?;
                let there = routes
                    .iter()
                    .filter(|it| table(it) == wanted && destination(it) == Some(network));
                if there.clone().any(|it| output(it) == Some(index)) {
                    return Ok(());
                }
                let through = there
                    .filter_map(output)
                    .map(|it| it.to_string())
                    .collect::<Vec<_>>()
                    .join(", ");
                bail!(
                    "failed to route `{network}` through `{INTERFACE}`: there is a route already, through interface \
                     number {through}; take the network out of `AllowedIPs`, or the route out of the image"
                )
            }
            Err(error) => Err(error).with_context(|| format!("failed to route `{network}` through `{INTERFACE}`")),
        }
    }

    async fn link_by(&self, request: rtnetlink::LinkGetRequest) -> anyhow::Result<Option<LinkMessage>> {
        request
            .execute()
            .try_next()
            .await
            .context("failed to read an interface")
    }

    async fn addresses(&self, index: u32) -> anyhow::Result<Vec<AddressMessage>> {
        let all = self.handle.address().get().set_link_index_filter(index).execute();
        all.try_collect()
            .await
            .context("failed to read an interface's addresses")
    }

    async fn routes(&self) -> anyhow::Result<Vec<RouteMessage>> {
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            let mut found = Box::pin(self.handle.route().get(request).execute());
            while let Some(route) = found.try_next().await.context("failed to read the routes")? {
                routes.push(route);
            }
        }
        Ok(routes)
    }
}
