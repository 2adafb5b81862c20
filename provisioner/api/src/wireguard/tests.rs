//! Documents as people have them, and what is refused of them.

mod random;

use std::net::IpAddr;

use test_case::test_case;

use super::{Document, Endpoint, Fault, Table};

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
const OTHER: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// A minimal document with further lines for either section.
fn document(interface: &str, peer: &str) -> String {
    format!(
        "[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/32\n{interface}\n[Peer]\nPublicKey = {OTHER}\n{peer}\n"
    )
}

fn parse(text: &str) -> Document {
    Document::parse(text).unwrap()
}

#[test]
fn reads_a_document_as_people_have_them() {
    let text = format!(
        "# home\r\n[interface]\r\nprivatekey={KEY} # mine\r\nADDRESS = 10.98.0.7/24, fd00::7/64\r\nAddress = 10.99.0.7\r\n\
         DNS = 192.168.10.1, fd00::53, onprem.example\r\nDNS=corp.example\r\nMTU = 1380\r\nListenPort = 51820\r\n\
         FwMark = 0xca6c\r\nTable = 1234\r\n\r\n[Peer]\r\nPublicKey = {OTHER}\r\nPresharedKey = {KEY}\r\n\
         AllowedIPs = 10.98.0.7/24, 192.168.10.0/24\r\nAllowedIPs = ::/0\r\nEndpoint = vpn.onprem.example:51820\r\n\
         PersistentKeepalive = 25\r\n[PEER]\r\nPublicKey = {KEY}\r\nAllowedIPs =\r\nEndpoint = [2001:db8::1]:1\r\n\
         PersistentKeepalive = off\r\n"
    );
    let document = parse(&text);
    let interface = &document.interface;
    assert_eq!(interface.private_key.expose(), KEY);
    assert_eq!(
        interface.addresses,
        ["10.98.0.7/24", "fd00::7/64", "10.99.0.7/32"].map(|it| it.parse().unwrap()),
        "host bits of an address stay"
    );
    assert_eq!(
        interface.dns,
        ["192.168.10.1", "fd00::53"].map(|it| it.parse::<IpAddr>().unwrap())
    );
    assert_eq!(interface.search, ["onprem.example", "corp.example"]);
    assert_eq!(
        (interface.mtu, interface.listen_port, interface.fwmark),
        (Some(1380), Some(51820), Some(0xca6c))
    );
    assert_eq!(interface.table, Table::Number(1234));
    let [first, second] = &document.peers[..] else {
        panic!("two peers")
    };
    assert_eq!(first.public_key.to_string(), OTHER);
    assert_eq!(first.preshared_key.as_ref().unwrap().expose(), KEY);
    assert_eq!(
        first.allowed_ips,
        ["10.98.0.0/24", "192.168.10.0/24", "::/0"].map(|it| it.parse().unwrap()),
        "host bits of a network go: the kernel refuses such a route"
    );
    assert_eq!(
        first.endpoint,
        Some(Endpoint {
            host: "vpn.onprem.example".to_owned(),
            port: 51820
        })
    );
    assert_eq!(first.persistent_keepalive, Some(25));
    assert_eq!(second.endpoint.as_ref().unwrap().to_string(), "[2001:db8::1]:1");
    assert_eq!((second.persistent_keepalive, second.allowed_ips.len()), (Some(0), 0));
}

#[test]
fn leaves_open_what_is_not_said() {
    let document = parse(&document("", ""));
    let interface = &document.interface;
    assert_eq!(
        (interface.mtu, interface.listen_port, interface.fwmark),
        (None, None, None)
    );
    assert_eq!(interface.table, Table::Auto);
    assert_eq!(document.peers[0].persistent_keepalive, None);
}

#[test_case("PostUp = iptables -A x", "", 4, "`PostUp` is not supported"; "post up")]
#[test_case("preup=x", "", 4, "`PreUp` is not supported"; "pre up in lower case")]
#[test_case("PreDown=x", "", 4, "`PreDown` is not supported"; "pre down")]
#[test_case("PostDown=x", "", 4, "`PostDown` is not supported"; "post down")]
#[test_case("SaveConfig = true", "", 4, "`SaveConfig` is not supported"; "save config")]
#[test_case("Adress = 10.0.0.1", "", 4, "unknown key `Adress`; did you mean `Address`?"; "misspelt")]
#[test_case("MTUs = 1400", "", 4, "did you mean `MTU`?"; "misspelt and short")]
#[test_case("Colour = red", "", 4, "unknown key `Colour`; remove it or correct its spelling"; "like nothing that is known")]
#[test_case("", "AllowedIP = 10.0.0.0/8", 7, "did you mean `AllowedIPs`?"; "misspelt in a peer")]
#[test_case("", "PostUp = x", 7, "it belongs to [Interface]"; "post up in a peer")]
#[test_case("AllowedIPs = 10.0.0.0/8", "", 4, "unknown key `AllowedIPs`; it belongs to [Peer]"; "a peer's key in the interface")]
#[test_case("", "DNS = 10.0.0.1", 7, "unknown key `DNS`; it belongs to [Interface]"; "an interface's key in a peer")]
#[test_case("\u{1b}[2J = 1", "", 4, "unknown key `\\u{1b}[2J`"; "terminal escape")]
#[test_case("PrivateKey = AAAA", "", 4, "`PrivateKey` must be 32 bytes in base64"; "short key")]
#[test_case("Address = 10.0.0.1/33", "", 4, "`Address` must be"; "prefix too long")]
#[test_case("Address = 10.0.0.256", "", 4, "`Address` must be"; "no address")]
#[test_case("DNS = a b", "", 4, "`DNS` must be"; "space in a domain")]
#[test_case("DNS = -a.example", "", 4, "`DNS` must be"; "no domain")]
#[test_case("MTU = 100", "", 4, "`MTU` must be"; "mtu too small")]
#[test_case("MTU = 70000", "", 4, "`MTU` must be"; "mtu too large")]
#[test_case("MTU = +1400", "", 4, "`MTU` must be"; "signed mtu")]
#[test_case("MTU = 1400\nMTU = 1400", "", 5, "`MTU` stands here a second time"; "mtu twice")]
#[test_case("ListenPort = 65536", "", 4, "`ListenPort` must be"; "port too large")]
#[test_case("FwMark = 0x1ffffffff", "", 4, "`FwMark` must be"; "mark too large")]
#[test_case("FwMark = 0x", "", 4, "`FwMark` must be"; "mark without digits")]
#[test_case("FwMark = 0x+1", "", 4, "`FwMark` must be"; "signed mark")]
#[test_case("FwMark = +1", "", 4, "`FwMark` must be"; "signed decimal mark")]
#[test_case("Table = main", "", 4, "`Table` must be"; "table by name")]
#[test_case("Table = 0", "", 4, "`Table` must be"; "table zero")]
#[test_case("DNS = 192.168.10", "", 4, "`DNS` must be"; "an address cut short")]
#[test_case("PrivateKey", "", 4, "expected `Key = value`"; "a key alone")]
#[test_case("[Interface]", "", 4, "`[Interface]` stands here a second time"; "second interface")]
#[test_case("[Wireguard]", "", 4, "unknown section"; "unknown section")]
#[test_case("just text", "", 4, "expected `Key = value`"; "no assignment")]
#[test_case("", "PublicKey = zzz", 7, "`PublicKey` must be"; "bad public key")]
#[test_case("", "PresharedKey = zzz", 7, "`PresharedKey` must be"; "bad preshared key")]
#[test_case("", "Endpoint = vpn.example", 7, "`Endpoint` must be"; "no port")]
#[test_case("", "Endpoint = vpn.example:0", 7, "`Endpoint` must be"; "port zero")]
#[test_case("", "Endpoint = 2001:db8::1:51820", 7, "`Endpoint` must be"; "v6 without brackets")]
#[test_case("", "Endpoint = 198.51.100:51820", 7, "`Endpoint` must be"; "an endpoint's address cut short")]
#[test_case("", "Endpoint = :51820", 7, "`Endpoint` must be"; "no host")]
#[test_case("", "Endpoint = vpn.example:65536", 7, "`Endpoint` must be"; "an endpoint's port too large")]
#[test_case("", "Endpoint = https://vpn.example:443", 7, "`Endpoint` must be"; "a URL")]
#[test_case("", "PersistentKeepalive = 70000", 7, "`PersistentKeepalive` must be"; "keepalive too long")]
#[test_case("", "AllowedIPs = 10.0.0.0/33", 7, "`AllowedIPs` must be"; "allowed prefix too long")]
#[test_case("", "AllowedIPs = onprem.example", 7, "`AllowedIPs` must be"; "a name for a network")]
#[test_case("", "PublicKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", 7, "`PublicKey` stands here a second time"; "two keys of one peer")]
#[test_case("", "[Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", 7, "a second [Peer]"; "two peers of one key")]
#[test_case("", "Endpoint = [vpn.example]:1", 7, "`Endpoint` must be"; "a name in brackets")]
#[test_case("", "PersistentKeepalive = -1", 7, "`PersistentKeepalive` must be"; "negative keepalive")]
#[test_case("", "AllowedIPs = 10.0.0.0/8 192.168.0.0/16", 7, "`AllowedIPs` must be"; "no comma")]
fn refuses(interface: &str, peer: &str, line: usize, message: &str) {
    let error = Document::parse(&document(interface, peer)).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    assert!(error.to_string().contains(message), "{error}");
}

#[test_case("", "[Interface]"; "empty")]
#[test_case("[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\n", "Address"; "no address")]
#[test_case("[Interface]\nAddress = 10.0.0.1\n", "PrivateKey"; "no private key")]
#[test_case("[Interface]\nAddress = 10.0.0.1\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\n", "[Peer]"; "no peer")]
#[test_case("[Interface]\n[Peer]\n", "PublicKey"; "no public key")]
fn misses(text: &str, what: &'static str) {
    assert_eq!(Document::parse(text).unwrap_err().fault, Fault::Missing(what));
}

#[test_case("Address = 10.0.0.1/32", "", 20, "more than 16 `Address`"; "addresses")]
#[test_case("DNS = 10.0.0.1, a.example", "", 20, "more than 32 `DNS`"; "servers and domains")]
#[test_case("", "AllowedIPs = 10.0.0.0/8", 200, "more than 192 `AllowedIPs`"; "networks")]
#[test_case("", "[Peer]", 20, "more than 16 `[Peer]`"; "peers")]
fn refuses_too_many(interface: &str, peer: &str, times: usize, message: &str) {
    let many = |line: &str| format!("{line}\n").repeat(times);
    let error = Document::parse(&document(&many(interface), &many(peer))).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test_case("Endpoint = vpn.onprem.example.:51820", "vpn.onprem.example.:51820"; "a name with its dot")]
#[test_case("Endpoint = 198.51.100.20:51820", "198.51.100.20:51820"; "version 4")]
#[test_case("endpoint=[2001:db8::20]:51820", "[2001:db8::20]:51820"; "version 6")]
fn reads_endpoints(line: &str, expected: &str) {
    let document = parse(&document("", line));
    assert_eq!(document.peers[0].endpoint.as_ref().unwrap().to_string(), expected);
}

#[test_case("FwMark = off", None; "off")]
#[test_case("FwMark = 0", None; "zero")]
#[test_case("FwMark = 51820", Some(51820); "decimal")]
#[test_case("FWMARK = 0XCA6C", Some(0xca6c); "hexadecimal")]
fn reads_marks(line: &str, expected: Option<u32>) {
    assert_eq!(parse(&document(line, "")).interface.fwmark, expected);
}

#[test_case("Table = off", Table::Off; "off")]
#[test_case("table = AUTO", Table::Auto; "auto")]
#[test_case("Table = 1000", Table::Number(1000); "a number")]
fn reads_tables(line: &str, expected: Table) {
    assert_eq!(parse(&document(line, "")).interface.table, expected);
}

#[test_case("PersistentKeepalive = off", Some(0); "off")]
#[test_case("PersistentKeepalive = 0", Some(0); "zero")]
#[test_case("PersistentKeepalive = 15", Some(15); "seconds")]
#[test_case("", None; "nothing")]
fn reads_keepalives(line: &str, expected: Option<u16>) {
    assert_eq!(parse(&document("", line)).peers[0].persistent_keepalive, expected);
}

#[test]
fn does_not_mind_how_lines_are_written() {
    let plain = document("DNS = 10.0.0.53, lan", "AllowedIPs = 10.0.0.0/8");
    let windows = plain.replace('\n', "\r\n");
    let marked = format!("\u{feff}{plain}");
    let indented = plain.replace('\n', "\n\t  ");
    let commented = plain.replace('\n', " # said=[Peer]\n#PostUp = x\n");
    let commas = plain
        .replace("53, lan", "53 ,lan,")
        .replace("10.0.0.0/8", ", 10.0.0.0/8");
    for variant in [windows, marked, indented, commented, commas] {
        assert_eq!(parse(&variant), parse(&plain), "{variant}");
    }
}

#[test]
fn refuses_an_assignment_before_any_section_and_an_endless_document() {
    assert_eq!(
        Document::parse("MTU = 1").unwrap_err().fault,
        Fault::NoSection("MTU".to_owned())
    );
    assert_eq!(
        Document::parse(&"#\n".repeat(100_000)).unwrap_err().fault,
        Fault::TooLong
    );
}

#[test]
fn shows_no_secret_in_debug_or_errors() {
    let parsed = parse(&document("", &format!("PresharedKey = {KEY}")));
    assert!(!format!("{parsed:?}").contains(KEY));
    let error = Document::parse(&document(&format!("PrivateKey = {KEY}"), "")).unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY));
}
