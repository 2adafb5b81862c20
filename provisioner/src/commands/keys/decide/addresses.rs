//! Which addresses new keys get.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

/// How far the search goes.
const FARTHEST: u128 = 1 << 16;

/// Why there are not enough.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Shortage {
    #[error("`{first}` is no address of a host in `{network}`")]
    Outside { first: IpAddr, network: IpNet },
    #[error("only {found} addresses of `{network}` are free from `{first}` on, not {wanted}")]
    Exhausted {
        network: IpNet,
        first: IpAddr,
        found: usize,
        wanted: usize,
    },
}

/// The first `wanted` addresses that nobody has.
pub(crate) fn choose(
    network: IpNet,
    first: Option<IpAddr>,
    wanted: usize,
    taken: &BTreeSet<IpAddr>,
) -> Result<Vec<IpAddr>, Shortage> {
    let network = network.trunc();
    let mut hosts = network.hosts();
    // The first is commonly the gateway's.
    let second = hosts.nth(1);
    let first = first.or(second).unwrap_or_else(|| network.addr());
    let (from, last) = (number(first), number(network.broadcast()));
    if !is_host(&network, first) {
        return Err(Shortage::Outside { first, network });
    }
    let free: Vec<IpAddr> = (from..=last.min(from.saturating_add(FARTHEST)))
        .filter_map(|it| address(it, first))
        .filter(|it| is_host(&network, *it) && !taken.contains(it))
        .take(wanted)
        .collect();
    if free.len() < wanted {
        let found = free.len();
        return Err(Shortage::Exhausted {
            network,
            first,
            found,
            wanted,
        });
    }
    Ok(free)
}

fn is_host(network: &IpNet, address: IpAddr) -> bool {
    let edge = address == network.network() || (address.is_ipv4() && address == network.broadcast());
    network.contains(&address) && (!edge || network.prefix_len() + 1 >= network.max_prefix_len())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn address(number: u128, like: IpAddr) -> Option<IpAddr> {
    match like {
        IpAddr::V4(_) => u32::try_from(number).ok().map(|it| IpAddr::V4(it.into())),
        IpAddr::V6(_) => Some(IpAddr::V6(Ipv6Addr::from_bits(number))),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Shortage, choose};

    fn chosen(network: &str, first: &str, wanted: usize, taken: &[&str]) -> Result<Vec<String>, Shortage> {
        let taken = taken.iter().map(|it| it.parse().unwrap()).collect();
        let first = (!first.is_empty()).then(|| first.parse().unwrap());
        let chosen = choose(network.parse().unwrap(), first, wanted, &taken)?;
        Ok(chosen.iter().map(ToString::to_string).collect())
    }

    #[test_case("10.98.0.0/24", "", 2, &[], &["10.98.0.2", "10.98.0.3"]; "the first is left to the gateway")]
    #[test_case("10.98.0.7/24", "", 1, &[], &["10.98.0.2"]; "host bits do not matter")]
    #[test_case("10.98.0.0/24", "10.98.0.9", 1, &[], &["10.98.0.9"]; "from where it is said")]
    #[test_case("10.98.0.0/24", "", 2, &["10.98.0.2", "10.98.0.4"], &["10.98.0.3", "10.98.0.5"]; "around those taken")]
    #[test_case("10.98.0.0/30", "10.98.0.1", 2, &[], &["10.98.0.1", "10.98.0.2"]; "never the broadcast address")]
    #[test_case("fd00::/64", "", 2, &["fd00::1"], &["fd00::2", "fd00::3"]; "six")]
    fn chooses(network: &str, first: &str, wanted: usize, taken: &[&str], expected: &[&str]) {
        assert_eq!(chosen(network, first, wanted, taken).unwrap(), expected);
    }

    #[test_case("10.98.0.0/30", "", 2, &[]; "too small a network")]
    #[test_case("10.98.0.0/29", "", 5, &["10.98.0.3"]; "too many taken")]
    #[test_case("10.98.0.0/24", "10.99.0.2", 1, &[]; "another network")]
    #[test_case("10.98.0.0/24", "10.98.0.0", 1, &[]; "the network's own address")]
    #[test_case("10.98.0.0/24", "fd00::2", 1, &[]; "another family")]
    fn says_what_is_short(network: &str, first: &str, wanted: usize, taken: &[&str]) {
        chosen(network, first, wanted, taken).unwrap_err();
    }
}
