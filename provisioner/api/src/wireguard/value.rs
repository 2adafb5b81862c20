//! Reading single values.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

use super::fault::Fault;
use super::{Endpoint, Table};
use crate::bytes;
use crate::secret::Secret;

pub(super) fn invalid(key: &'static str, expected: &'static str) -> Fault {
    Fault::Invalid { key, expected }
}

/// Keeps a value that may stand once.
pub(super) fn once<T>(key: &'static str, slot: &mut Option<T>, value: T) -> Result<(), Fault> {
    if slot.replace(value).is_some() {
        return Err(Fault::Repeated(key));
    }
    Ok(())
}

/// The entries of a list; a comma too many is no harm.
pub(super) fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|it| !it.is_empty())
}

/// Adds an entry to a list of at most `limit`.
pub(super) fn push<T>(what: &'static str, limit: usize, list: &mut Vec<T>, item: T) -> Result<(), Fault> {
    if list.len() == limit {
        return Err(Fault::TooMany { what, limit });
    }
    list.push(item);
    Ok(())
}

pub(super) fn number<T: FromStr>(key: &'static str, value: &str, expected: &'static str) -> Result<T, Fault> {
    // `FromStr` takes a sign, wg does not.
    if !value.bytes().all(|it| it.is_ascii_digit()) {
        return Err(invalid(key, expected));
    }
    value.parse().map_err(|_| invalid(key, expected))
}

/// An address, with a prefix length or without.
pub(super) fn network(key: &'static str, value: &str) -> Result<IpNet, Fault> {
    value
        .parse()
        .or_else(|_| value.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| invalid(key, "a list of addresses, each with or without a prefix length"))
}

pub(super) fn secret_key(key: &'static str, value: &str) -> Result<Secret, Fault> {
    bytes::decode_exact::<32>(value).ok_or(invalid(key, "32 bytes in base64"))?;
    Ok(Secret::new(value.to_owned()))
}

pub(super) fn mtu(value: &str) -> Result<u16, Fault> {
    const EXPECTED: &str = "a number from 576 to 65535";
    let mtu = number("MTU", value, EXPECTED)?;
    (mtu >= 576).then_some(mtu).ok_or(invalid("MTU", EXPECTED))
}

/// 0 means: none.
pub(super) fn fwmark(value: &str) -> Result<u32, Fault> {
    const EXPECTED: &str = "`off` or a 32-bit number, decimal or 0x";
    if value.eq_ignore_ascii_case("off") {
        return Ok(0);
    }
    match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|it| it.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).map_err(|_| invalid("FwMark", EXPECTED))
        }
        Some(_) => Err(invalid("FwMark", EXPECTED)),
        None => number("FwMark", value, EXPECTED),
    }
}

pub(super) fn table(value: &str) -> Result<Table, Fault> {
    const EXPECTED: &str = "`off`, `auto` or a table's number, from 1";
    if value.eq_ignore_ascii_case("auto") {
        return Ok(Table::Auto);
    }
    if value.eq_ignore_ascii_case("off") {
        return Ok(Table::Off);
    }
    match number("Table", value, EXPECTED)? {
        0 => Err(invalid("Table", EXPECTED)),
        number => Ok(Table::Number(number)),
    }
}

/// 0 means: none.
pub(super) fn keepalive(value: &str) -> Result<u16, Fault> {
    if value.eq_ignore_ascii_case("off") {
        return Ok(0);
    }
    number("PersistentKeepalive", value, "`off` or seconds from 0 to 65535")
}

pub(super) fn endpoint(value: &str) -> Result<Endpoint, Fault> {
    const EXPECTED: &str = "`host:port`, with an IPv6 address in brackets";
    let wrong = || invalid("Endpoint", EXPECTED);
    let (host, port) = value.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = number("Endpoint", port, EXPECTED)?;
    let bracketed = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let valid = match bracketed {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
        None => is_host(host),
    };
    if port == 0 || !valid {
        return Err(wrong());
    }
    Ok(Endpoint {
        host: bracketed.unwrap_or(host).to_owned(),
        port,
    })
}

/// An IPv4 address or a name; digits and dots alone are no name.
fn is_host(text: &str) -> bool {
    let numeric = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    if numeric {
        text.parse::<IpAddr>().is_ok()
    } else {
        is_domain(text)
    }
}

/// Whether this can stand in a resolver's search list or name a host: RFC 1123 labels, a trailing dot allowed.
pub(super) fn is_domain(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    text.len() <= 253
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
        })
}
