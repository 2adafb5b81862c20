//! What netlink's messages say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage};
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteVia};

pub(super) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(it) if it.is_unicast_link_local())
}

pub(super) fn name(link: &LinkMessage) -> Option<String> {
    link.attributes.iter().find_map(|it| match it {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })
}

pub(super) fn mtu(link: &LinkMessage) -> Option<u32> {
    link.attributes.iter().find_map(|it| match it {
        LinkAttribute::Mtu(mtu) => Some(*mtu),
        _ => None,
    })
}

/// The address with its prefix length. On a point-to-point link `Local` is ours, and `Address` the other side.
pub(super) fn network(message: &AddressMessage) -> Option<IpNet> {
    let local = message.attributes.iter().find_map(|it| match it {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = local.or_else(|| {
        message.attributes.iter().find_map(|it| match it {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })?;
    IpNet::new(address, message.header.prefix_len).ok()
}

pub(super) fn table(route: &RouteMessage) -> u32 {
    let attribute = route.attributes.iter().find_map(|it| match it {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    attribute.unwrap_or_else(|| route.header.table.into())
}

pub(super) fn output(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|it| match it {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    })
}

pub(super) fn metric(route: &RouteMessage) -> u32 {
    let metric = route.attributes.iter().find_map(|it| match it {
        RouteAttribute::Priority(metric) => Some(*metric),
        _ => None,
    });
    metric.unwrap_or(0)
}

/// Where a route hands its packets to, where that is another machine.
pub(super) fn gateway(route: &RouteMessage) -> Option<IpAddr> {
    route.attributes.iter().find_map(|it| match it {
        RouteAttribute::Gateway(RouteAddress::Inet(it)) | RouteAttribute::Via(RouteVia::Inet(it)) => {
            Some(IpAddr::V4(*it))
        }
        RouteAttribute::Gateway(RouteAddress::Inet6(it)) | RouteAttribute::Via(RouteVia::Inet6(it)) => {
            Some(IpAddr::V6(*it))
        }
        _ => None,
    })
}

/// A default route does not say where it leads.
pub(super) fn destination(route: &RouteMessage) -> Option<IpNet> {
    let address = route.attributes.iter().find_map(|it| match it {
        RouteAttribute::Destination(RouteAddress::Inet(it)) => Some(IpAddr::V4(*it)),
        RouteAttribute::Destination(RouteAddress::Inet6(it)) => Some(IpAddr::V6(*it)),
        _ => None,
    });
    let everything = || match route.header.address_family {
        AddressFamily::Inet => Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        AddressFamily::Inet6 => Some(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        _ => None,
    };
    IpNet::new(address.or_else(everything)?, route.header.destination_prefix_length).ok()
}
