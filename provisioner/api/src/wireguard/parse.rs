//! Reading a wg-quick document, strictly and with line numbers.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::{Document, Endpoint, Interface, Key, Peer, Table};
use crate::bytes;
use crate::secret::Secret;

/// The longest document that is read, in bytes: a peer with hundreds of networks fits.
const MAX_LENGTH: usize = 32 * 1024;

/// What is wrong with a document, and where. It never holds a value that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the WireGuard configuration: {fault}")]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The fault.
    pub fault: Fault,
}

/// The ways in which a line can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than the bound.
    #[error("the document is longer than {MAX_LENGTH} bytes")]
    TooLong,
    /// A line that is neither a section, an assignment nor a comment.
    #[error("expected `Key = value` or a section")]
    NoAssignment,
    /// An unknown section.
    #[error("unknown section; only [Interface] and [Peer] exist")]
    UnknownSection,
    /// An assignment before the first section.
    #[error("`{0}` stands before any section")]
    NoSection(String),
    /// A key that neither wg nor wg-quick knows in this section.
    #[error("unknown key `{0}`; remove it or correct its spelling")]
    UnknownKey(String),
    /// A key that makes wg-quick run commands or rewrite the file.
    #[error("`{0}` is not supported, for it would run commands or rewrite the file; remove it")]
    Unsupported(&'static str),
    /// A value that does not parse.
    #[error("`{key}` must be {expected}")]
    Invalid {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A key that may stand once.
    #[error("`{0}` stands here a second time")]
    Repeated(&'static str),
    /// Something required is absent.
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

enum Section {
    None,
    Interface,
    Peer,
}

/// What `[Interface]` said so far.
#[derive(Default)]
struct InterfaceDraft {
    seen: bool,
    private_key: Option<Secret>,
    addresses: Vec<IpNet>,
    dns: Vec<IpAddr>,
    search: Vec<String>,
    mtu: Option<u16>,
    listen_port: Option<u16>,
    fwmark: Option<u32>,
    table: Option<Table>,
}

#[derive(Default)]
struct PeerDraft {
    line: usize,
    public_key: Option<Key>,
    preshared_key: Option<Secret>,
    allowed_ips: Vec<IpNet>,
    endpoint: Option<Endpoint>,
    persistent_keepalive: Option<u16>,
}

impl Document {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_LENGTH {
            return Err(Error {
                line: 1,
                fault: Fault::TooLong,
            });
        }
        let mut section = Section::None;
        let mut interface = InterfaceDraft::default();
        let mut peers: Vec<PeerDraft> = Vec::new();
        let mut last = 1;
        for (number, line) in (1..).zip(text.lines()) {
            last = number;
            let at = |fault| Error { line: number, fault };
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if line.starts_with('[') {
                section = match line.to_ascii_lowercase().as_str() {
                    "[interface]" if interface.seen => return Err(at(Fault::Repeated("[Interface]"))),
                    "[interface]" => {
                        interface.seen = true;
                        Section::Interface
                    }
                    "[peer]" => {
                        peers.push(PeerDraft {
                            line: number,
                            ..PeerDraft::default()
                        });
                        Section::Peer
                    }
                    _ => return Err(at(Fault::UnknownSection)),
                };
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| at(Fault::NoAssignment))?;
            let (key, value) = (key.trim(), value.trim());
            match (&section, peers.last_mut()) {
                (Section::Interface, _) => interface.set(key, value).map_err(at)?,
                (Section::Peer, Some(peer)) => peer.set(key, value).map_err(at)?,
                _ => return Err(at(Fault::NoSection(printable(key)))),
            }
        }
        let peers = peers
            .into_iter()
            .map(PeerDraft::finish)
            .collect::<Result<Vec<_>, _>>()?;
        let missing = |what| Error {
            line: last,
            fault: Fault::Missing(what),
        };
        let interface = interface.finish().map_err(missing)?;
        if peers.is_empty() {
            return Err(missing("[Peer]"));
        }
        Ok(Self { interface, peers })
    }
}

impl InterfaceDraft {
    fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        match key.to_ascii_lowercase().as_str() {
            "privatekey" => once("PrivateKey", &mut self.private_key, secret_key("PrivateKey", value)?),
            "address" => list(value, &mut self.addresses, |it| network("Address", it)),
            "dns" => self.set_dns(value),
            "mtu" => {
                let mtu = number("MTU", value, "a number from 576 to 65535")?;
                let valid = (576..=u16::MAX).contains(&mtu).then_some(mtu);
                once(
                    "MTU",
                    &mut self.mtu,
                    valid.ok_or(invalid("MTU", "a number from 576 to 65535"))?,
                )
            }
            "listenport" => once(
                "ListenPort",
                &mut self.listen_port,
                number("ListenPort", value, "a port from 0 to 65535")?,
            ),
            "fwmark" => once("FwMark", &mut self.fwmark, fwmark(value)?),
            "table" => once("Table", &mut self.table, table(value)?),
            "preup" => Err(Fault::Unsupported("PreUp")),
            "postup" => Err(Fault::Unsupported("PostUp")),
            "predown" => Err(Fault::Unsupported("PreDown")),
            "postdown" => Err(Fault::Unsupported("PostDown")),
            "saveconfig" => Err(Fault::Unsupported("SaveConfig")),
            _ => Err(Fault::UnknownKey(printable(key))),
        }
    }

    // As in wg-quick: what is no address is a search domain.
    fn set_dns(&mut self, value: &str) -> Result<(), Fault> {
        for item in items(value) {
            if let Ok(server) = item.parse() {
                self.dns.push(server);
            } else if is_domain(item) {
                self.search.push(item.to_owned());
            } else {
                return Err(invalid("DNS", "a list of addresses and search domains"));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Interface, &'static str> {
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

impl PeerDraft {
    fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        match key.to_ascii_lowercase().as_str() {
            "publickey" => {
                let key = Key::from_base64(value).ok_or(invalid("PublicKey", "32 bytes in base64"))?;
                once("PublicKey", &mut self.public_key, key)
            }
            "presharedkey" => once(
                "PresharedKey",
                &mut self.preshared_key,
                secret_key("PresharedKey", value)?,
            ),
            "allowedips" => list(value, &mut self.allowed_ips, |it| {
                network("AllowedIPs", it).map(|net| net.trunc())
            }),
            "endpoint" => once("Endpoint", &mut self.endpoint, endpoint(value)?),
            "persistentkeepalive" => {
                let seconds = if value.eq_ignore_ascii_case("off") {
                    0
                } else {
                    number("PersistentKeepalive", value, "`off` or seconds from 0 to 65535")?
                };
                once("PersistentKeepalive", &mut self.persistent_keepalive, seconds)
            }
            _ => Err(Fault::UnknownKey(printable(key))),
        }
    }

    fn finish(self) -> Result<Peer, Error> {
        let public_key = self.public_key.ok_or(Error {
            line: self.line,
            fault: Fault::Missing("PublicKey"),
        })?;
        Ok(Peer {
            public_key,
            preshared_key: self.preshared_key,
            allowed_ips: self.allowed_ips,
            endpoint: self.endpoint,
            persistent_keepalive: self.persistent_keepalive,
        })
    }
}

fn invalid(key: &'static str, expected: &'static str) -> Fault {
    Fault::Invalid { key, expected }
}

fn once<T>(key: &'static str, slot: &mut Option<T>, value: T) -> Result<(), Fault> {
    if slot.replace(value).is_some() {
        return Err(Fault::Repeated(key));
    }
    Ok(())
}

fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|it| !it.is_empty())
}

fn list<T>(value: &str, into: &mut Vec<T>, parse: impl Fn(&str) -> Result<T, Fault>) -> Result<(), Fault> {
    for item in items(value) {
        into.push(parse(item)?);
    }
    Ok(())
}

fn number<T: FromStr>(key: &'static str, value: &str, expected: &'static str) -> Result<T, Fault> {
    // `FromStr` takes a sign, wg does not.
    if !value.bytes().all(|it| it.is_ascii_digit()) {
        return Err(invalid(key, expected));
    }
    value.parse().map_err(|_| invalid(key, expected))
}

fn network(key: &'static str, value: &str) -> Result<IpNet, Fault> {
    value
        .parse()
        .or_else(|_| value.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| invalid(key, "a list of addresses, each with or without a prefix length"))
}

fn secret_key(key: &'static str, value: &str) -> Result<Secret, Fault> {
    bytes::decode_exact::<32>(value).ok_or(invalid(key, "32 bytes in base64"))?;
    Ok(Secret::new(value.to_owned()))
}

fn fwmark(value: &str) -> Result<u32, Fault> {
    if value.eq_ignore_ascii_case("off") {
        return Ok(0);
    }
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    parsed.ok_or(invalid("FwMark", "`off` or a 32-bit number, decimal or 0x"))
}

fn table(value: &str) -> Result<Table, Fault> {
    if value.eq_ignore_ascii_case("auto") {
        Ok(Table::Auto)
    } else if value.eq_ignore_ascii_case("off") {
        Ok(Table::Off)
    } else {
        number("Table", value, "`off`, `auto` or a table's number").map(Table::Number)
    }
}

fn endpoint(value: &str) -> Result<Endpoint, Fault> {
    let wrong = || invalid("Endpoint", "`host:port`, with an IPv6 address in brackets");
    let (host, port) = value.rsplit_once(':').ok_or_else(wrong)?;
    let port = number::<u16>("Endpoint", port, "`host:port`, with an IPv6 address in brackets")?;
    let bracketed = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let valid = port != 0
        && match bracketed {
            Some(inside) => inside.parse::<std::net::Ipv6Addr>().is_ok(),
            None => is_domain(host),
        };
    if valid {
        Ok(Endpoint {
            host: bracketed.unwrap_or(host).to_owned(),
            port,
        })
    } else {
        Err(wrong())
    }
}

/// Whether this can stand in a resolver's search list or name a host: RFC 1123 labels, a trailing dot allowed.
fn is_domain(text: &str) -> bool {
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

/// A key's name for an error: short, and without what could drive a terminal.
fn printable(key: &str) -> String {
    key.chars().take(40).flat_map(char::escape_default).collect()
}
