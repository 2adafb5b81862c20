//! As much of a DHCP client as asks for an offer (RFC 2131).

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Where the options begin, after the fixed fields and the cookie.
const OPTIONS: usize = 240;
const TRANSACTION: [u8; 4] = *b"lab!";

/// What a server offers.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) address: Ipv4Addr,
    pub(crate) router: Option<Ipv4Addr>,
    pub(crate) resolver: Option<Ipv4Addr>,
}

/// Asks on the network of the calling thread, again and again, as the server may just have been told of the card.
pub(crate) fn discover(mac: &str, patience: Duration) -> anyhow::Result<Offer> {
    let socket = UdpSocket::bind("0.0.0.0:68").context("failed to open the DHCP client's port")?;
    socket.set_broadcast(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let question = question(mac)?;
    let end = Instant::now() + patience;
    while Instant::now() < end {
        socket.send_to(&question, "255.255.255.255:67")?;
        let mut answer = [0; 1500];
        match socket.recv(&mut answer) {
            Ok(length) => return read(&answer[..length]).context("failed to read an offer"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("failed to get an offer within {patience:?}")
}

fn question(mac: &str) -> anyhow::Result<Vec<u8>> {
    let mut packet = vec![0; OPTIONS];
    // A request over Ethernet, whose answer is to be broadcast.
    packet[..4].copy_from_slice(&[1, 1, 6, 0]);
    packet[4..8].copy_from_slice(&TRANSACTION);
    packet[10] = 0x80;
    for (place, byte) in packet[28..34].iter_mut().zip(mac.split(':')) {
        *place = u8::from_str_radix(byte, 16).with_context(|| format!("failed to read `{mac}`"))?;
    }
    packet[236..].copy_from_slice(&COOKIE);
    // A discovery that wants mask, router and resolver.
    packet.extend([53, 1, 1, 55, 3, 1, 3, 6, 255]);
    Ok(packet)
}

fn read(packet: &[u8]) -> Option<Offer> {
    if packet.get(4..8)? != TRANSACTION || packet.get(236..OPTIONS)? != COOKIE {
        return None;
    }
    Some(Offer {
        address: address(packet.get(16..20)?)?,
        router: option(packet, 3).and_then(address),
        resolver: option(packet, 6).and_then(address),
    })
}

fn option(packet: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut rest = &packet[OPTIONS..];
    while let [code, length, ..] = *rest {
        let value = rest.get(2..2 + usize::from(length))?;
        if code == wanted {
            return Some(value);
        }
        rest = &rest[2 + usize::from(length)..];
    }
    None
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from)
}
