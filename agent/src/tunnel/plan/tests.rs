use std::net::SocketAddr;

use dynk8s_api::wireguard::Document;
use ipnet::IpNet;
use test_case::test_case;

use super::{Below, Plan, Refusal, plan};

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";

fn below() -> Below {
    Below {
        mtu: 9001,
        networks: vec!["172.31.0.10/20".parse().unwrap()],
        resolvers: vec!["10.2.0.2".parse().unwrap()],
    }
}

fn planned(interface: &str, peer: &str) -> Result<Plan, Refusal> {
    let text = format!(
        "[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/24\n{interface}\n[Peer]\nPublicKey = {KEY}\n{peer}\n"
    );
    let endpoint: SocketAddr = "198.51.100.20:51820".parse().unwrap();
    plan(&Document::parse(&text).unwrap(), &[Some(endpoint)], &below())
}

fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

#[test]
fn chooses_what_the_document_leaves_open() {
    let plan = planned("", "AllowedIPs = 192.168.10.7/24, 10.98.0.0/24, 192.168.10.0/24").unwrap();
    assert_eq!(plan.mtu, 1420, "not what the jumbo frames of a VPC would allow");
    assert_eq!(plan.peers[0].keepalive, 25);
    assert_eq!(
        plan.routes,
        networks(&["192.168.10.0/24"]),
        "masked, once, and none that the address brings"
    );
    assert_eq!(plan.addresses, networks(&["10.98.0.2/24"]), "host bits kept");
    assert_eq!(plan.table, None);
}

#[test]
fn takes_what_the_document_says() {
    let plan = planned(
        "MTU = 1380\nListenPort = 51820\nFwMark = 0x20\nTable = 77",
        "PersistentKeepalive = off\nAllowedIPs = 192.168.10.0/24",
    )
    .unwrap();
    assert_eq!((plan.mtu, plan.listen_port, plan.fwmark), (1380, Some(51820), Some(32)));
    assert_eq!((plan.table, plan.peers[0].keepalive), (Some(77), 0));
}

#[test_case(1500, 1420; "an ordinary link")]
#[test_case(1400, 1320; "a smaller one")]
#[test_case(9001, 1420; "jumbo frames")]
fn leaves_room_for_the_overhead(link: u32, expected: u32) {
    let text = format!("[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/32\n[Peer]\nPublicKey = {KEY}\n");
    let below = Below { mtu: link, ..below() };
    assert_eq!(
        plan(&Document::parse(&text).unwrap(), &[None], &below).unwrap().mtu,
        expected
    );
}

#[test_case("0.0.0.0/0", "default route `0.0.0.0/0`"; "everything")]
#[test_case("::/0", "default route `::/0`"; "everything of version 6")]
#[test_case("172.16.0.0/12", "addresses of the VPC's subnet `172.31.0.0/20`"; "more than the subnet")]
#[test_case("172.31.1.0/24", "addresses of the VPC's subnet"; "a part of the subnet")]
#[test_case("169.254.0.0/16", "the VPC's own service `169.254.169.254`"; "the metadata service")]
#[test_case("fd00::/8", "the VPC's own service `fd00:ec2::254`"; "the metadata service of version 6")]
#[test_case("10.0.0.0/8", "the VPC's resolver `10.2.0.2`"; "the resolver")]
#[test_case("198.51.100.0/24", "the tunnel's own endpoint `198.51.100.20`"; "the endpoint")]
fn refuses_to_take_away(network: &str, expected: &str) {
    let error = planned("", &format!("AllowedIPs = 192.168.10.0/24, {network}"))
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected) && error.contains(KEY), "{error}");
}

#[test]
fn lets_a_document_without_routes_say_anything() {
    let plan = planned("Table = off", "AllowedIPs = 0.0.0.0/0").unwrap();
    assert_eq!(plan.routes, []);
}

#[test]
fn refuses_an_address_that_stands_twice() {
    let error = planned("Address = 10.98.0.2/24", "").unwrap_err();
    assert!(matches!(error, Refusal::Repeated { .. }), "{error}");
}

#[test]
fn prints_no_key_of_ours() {
    let printed = format!("{:?}", planned("", "AllowedIPs = 192.168.10.0/24").unwrap().private_key);
    assert_eq!(printed, "[secret]");
}
