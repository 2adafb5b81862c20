//! Routes, by rtnetlink. They are added, never replaced: a route that is there already belongs to somebody, and replacing
//! it can take the VPC's own away for good. Those of ours are known by their protocol.

use std::net::IpAddr;

use anyhow::{Context as _, anyhow, bail};
use futures_util::TryStreamExt as _;
use ipnet::IpNet;
use rtnetlink::RouteMessageBuilder;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::route::{RouteMessage, RouteProtocol, RouteScope};
use tracing::info;

use super::link::{EXISTS, Netlink, UplinkLink};
use super::message::{destination, output, table};
use super::plan::{INTERFACE, MAIN_TABLE, Routing};

/// Who made a route or a rule, as `ip route show proto 216` asks: a number that nobody else is known to take.
pub(super) const OURS: RouteProtocol = RouteProtocol::Other(216);

/// A route as it should be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    network: IpNet,
    table: u32,
    output: u32,
    gateway: Option<IpAddr>,
}

impl Netlink {
    pub(super) async fn set_routes(&self, index: u32, uplink: &UplinkLink, routing: &Routing) -> anyhow::Result<()> {
        let wanted = wanted(index, uplink, routing);
        let there = self.remove_routes(&wanted).await?;
        for wanted in wanted {
            if !there.iter().any(|it| wanted.is(it)) {
                self.add_route(&wanted, index, &there).await?;
            }
        }
        Ok(())
    }

    /// Removes the routes of ours that are not wanted, and returns all others.
    pub(super) async fn remove_routes(&self, wanted: &[Wanted]) -> anyhow::Result<Vec<RouteMessage>> {
        let mut there = Vec::new();
        for route in self.routes().await? {
            let stays = wanted.iter().any(|it| it.is(&route));
            if route.header.protocol == OURS && !stays {
                info!("removing a route of ours that is no longer wanted");
                let removed = self.handle.route().del(route).execute().await;
                removed.context("failed to remove a route of ours")?;
            } else {
                there.push(route);
            }
        }
        Ok(there)
    }

    async fn add_route(&self, wanted: &Wanted, tunnel: u32, there: &[RouteMessage]) -> anyhow::Result<()> {
        let network = wanted.network;
        let failed = || format!("failed to route `{network}`");
        let mut in_the_way = there
            .iter()
            .filter(|it| table(it) == wanted.table && destination(it) == Some(network));
        match in_the_way.find_map(output) {
            // Somebody else keeps it outside.
            Some(other) if wanted.output != tunnel && other != tunnel => return Ok(()),
            Some(other) => bail!(
                "failed to route `{network}` through `{INTERFACE}`: there is a route already, through interface number \
                 {other}; take the network out of `AllowedIPs`, or the route out of the image"
            ),
            None => {}
        }
        let mut builder = RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(network.addr(), network.prefix_len())
            .with_context(failed)?
            .output_interface(wanted.output)
            .table_id(wanted.table)
            .protocol(OURS);
        builder = match wanted.gateway {
            Some(gateway) => builder
                .gateway(gateway)
                .map_err(|_| anyhow!("its gateway is of another family"))
                .with_context(failed)?,
            None => builder.scope(RouteScope::Link),
        };
        match self.handle.route().add(builder.build()).execute().await {
            Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == EXISTS => Ok(()),
            outcome => outcome.with_context(failed),
        }
    }

    pub(super) async fn routes(&self) -> anyhow::Result<Vec<RouteMessage>> {
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

impl Wanted {
    fn is(&self, route: &RouteMessage) -> bool {
        table(route) == self.table && output(route) == Some(self.output) && destination(route) == Some(self.network)
    }
}

fn wanted(index: u32, uplink: &UplinkLink, routing: &Routing) -> Vec<Wanted> {
    let through = routing.routes.iter().map(|it| Wanted {
        network: it.network,
        table: it.table,
        output: index,
        gateway: None,
    });
    let outside = routing.outside.iter().filter_map(|network| {
        let of_family = |it: &&IpAddr| it.is_ipv4() == network.addr().is_ipv4();
        Some(Wanted {
            network: *network,
            table: MAIN_TABLE,
            output: uplink.index,
            gateway: Some(*uplink.gateways.iter().find(of_family)?),
        })
    });
    // What stays outside is outside before anything goes through.
    outside.chain(through).collect()
}

#[cfg(test)]
mod tests;
