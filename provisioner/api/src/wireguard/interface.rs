//! What `[Interface]` says, line by line.

use std::net::IpAddr;

use ipnet::IpNet;

use super::fault::Fault;
use super::value::{fwmark, invalid, is_domain, items, mtu, network, number, once, push, secret_key, table};
use super::{Interface, Table, bounds, keys};
use crate::secret::Secret;

#[derive(Default)]
pub(super) struct Draft {
    pub(super) seen: bool,
    private_key: Option<Secret>,
    addresses: Vec<IpNet>,
    dns: Vec<IpAddr>,
    search: Vec<String>,
    mtu: Option<u16>,
    listen_port: Option<u16>,
    fwmark: Option<u32>,
    table: Option<Table>,
}

impl Draft {
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        match key.to_ascii_lowercase().as_str() {
            "privatekey" => once("PrivateKey", &mut self.private_key, secret_key("PrivateKey", value)?),
            "address" => items(value).try_for_each(|it| {
                let address = network("Address", it)?;
                push("Address", bounds::ADDRESSES, &mut self.addresses, address)
            }),
            "dns" => items(value).try_for_each(|it| self.add_dns(it)),
            "mtu" => once("MTU", &mut self.mtu, mtu(value)?),
            "listenport" => {
                let port = number("ListenPort", value, "a port from 0 to 65535")?;
                once("ListenPort", &mut self.listen_port, port)
            }
            "fwmark" => once("FwMark", &mut self.fwmark, fwmark(value)?),
            "table" => once("Table", &mut self.table, table(value)?),
            _ => Err(keys::unknown_of_interface(key)),
        }
    }

    // As in wg-quick: what is no address is a search domain. Digits and dots alone are neither.
    fn add_dns(&mut self, item: &str) -> Result<(), Fault> {
        if self.dns.len() + self.search.len() == bounds::DNS {
            let limit = bounds::DNS;
            return Err(Fault::TooMany { what: "DNS", limit });
        }
        if let Ok(server) = item.parse() {
            self.dns.push(server);
        } else if is_domain(item) && item.bytes().any(|it| it.is_ascii_alphabetic()) {
            self.search.push(item.to_owned());
        } else {
            return Err(invalid("DNS", "a list of addresses and search domains"));
        }
        Ok(())
    }

    /// The whole section, or the name of what is missing.
    pub(super) fn finish(self) -> Result<Interface, &'static str> {
        if !self.seen {
            return Err("[Interface]");
        }
        if self.addresses.is_empty() {
            return Err("Address");
        }
        Ok(Interface {
            private_key: self.private_key.ok_or("PrivateKey")?,
            addresses: self.addresses,
            dns: self.dns,
            search: self.search,
            mtu: self.mtu,
            listen_port: self.listen_port.filter(|it| *it != 0),
            fwmark: self.fwmark.filter(|it| *it != 0),
            table: self.table.unwrap_or_default(),
        })
    }
}
