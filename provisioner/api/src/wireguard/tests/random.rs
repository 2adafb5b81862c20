//! Documents that nobody would write: whatever they hold, reading them ends in a document or in an error with its line.

use super::super::{Document, bounds};
use super::{KEY, OTHER};

/// So that a failure is the same one again.
struct Dice(u64);

impl Dice {
    // The generator of Marsaglia's "Xorshift RNGs".
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const KEYS: &[&str] = &[
    "PrivateKey",
    "Address",
    "DNS",
    "MTU",
    "ListenPort",
    "FwMark",
    "Table",
    "PostUp",
    "SaveConfig",
    "PublicKey",
    "PresharedKey",
    "AllowedIPs",
    "Endpoint",
    "PersistentKeepalive",
    "",
    "=",
    "é",
    "\u{0}",
];

const VALUES: &[&str] = &[
    KEY,
    OTHER,
    "10.0.0.1",
    "10.0.0.1/8",
    "::/0",
    "fe80::1%eth0",
    "[::1]:1",
    "[",
    "]:1",
    ":",
    "a:1",
    ".",
    "..",
    "-",
    "off",
    "auto",
    "0x",
    "0xfff",
    "99999999999999999999",
    "-1",
    ",",
    ",,",
    "\u{feff}",
    "é",
    "\u{1b}[0m",
    "=",
];

const BETWEEN: &[&str] = &[
    "\n",
    "\r\n",
    "\n\n",
    " # x\n",
    "\r",
    "\n[Peer]\n",
    "\n[Interface]\n",
    "\n[",
    "",
    " = ",
    ",",
];

#[test]
fn reading_never_panics() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let mut text = "[Interface]\n".repeat(dice.roll(2));
        for _ in 0..dice.roll(12) {
            text += dice.pick(KEYS);
            text += dice.pick(&[" = ", "=", " "]);
            text += dice.pick(VALUES);
            text += dice.pick(BETWEEN);
        }
        if let Err(error) = Document::parse(&text) {
            assert!(
                (1..=text.lines().count().max(1)).contains(&error.line),
                "{text:?}: {error}"
            );
        }
    }
}

#[test]
fn a_damaged_document_is_read_or_refused() {
    let whole = format!(
        "[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/24, fd00::2/64\nDNS = 192.168.10.1, lan\nMTU = 1420\n[Peer]\n\
         PublicKey = {OTHER}\nAllowedIPs = 10.98.0.0/24\nEndpoint = vpn.onprem.example:51820\nPersistentKeepalive = 25\n"
    );
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for _ in 0..20_000 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(bytes.len().max(1));
            match dice.roll(3) {
                _ if bytes.is_empty() => {}
                0 => bytes[at] = u8::try_from(dice.roll(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        if let Ok(document) = Document::parse(&String::from_utf8_lossy(&bytes)) {
            assert!(!document.interface.addresses.is_empty() && !document.peers.is_empty());
            let allowed = document.peers.iter().flat_map(|it| &it.allowed_ips);
            assert!(allowed.clone().count() <= bounds::ALLOWED_IPS);
            for network in allowed {
                assert_eq!(*network, network.trunc(), "masked");
            }
        }
    }
}
