//! Documents on a machine in the lab's VPC.

use std::net::SocketAddr;

use dynk8s_api::wireguard::Document;
use ipnet::IpNet;
use test_case::test_case;

use super::{Below, Plan, Policy, Refusal, Route, plan};

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
const OTHER: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const MAIN: u32 = 254;

fn below() -> Below {
    Below {
        mtu: 9001,
        networks: networks(&["172.31.0.10/20"]),
        gateways: vec!["172.31.0.1".parse().unwrap()],
        vpc: networks(&["172.31.0.0/16"]),
        resolvers: vec!["10.2.0.2".parse().unwrap()],
        provisioner: vec!["203.0.113.7".parse().unwrap()],
    }
}

fn document(interface: &str, peer: &str) -> Document {
    let text = format!(
        "[Interface]\nPrivateKey = {KEY}\nAddress = 10.98.0.2/24\n{interface}\n[Peer]\nPublicKey = {KEY}\n{peer}\n"
    );
    Document::parse(&text).unwrap()
}

fn planned_on(below: &Below, interface: &str, peer: &str) -> Result<Plan, Refusal> {
    let document = document(interface, peer);
    let endpoint: SocketAddr = "198.51.100.20:51820".parse().unwrap();
    let endpoints = vec![vec![endpoint]; document.peers.len()];
    plan(&document, &endpoints, below)
}

fn planned(interface: &str, peer: &str) -> Result<Plan, Refusal> {
    planned_on(&below(), interface, peer)
}

fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

fn routes(routes: &[(&str, u32)]) -> Vec<Route> {
    let route = |(network, table): &(&str, u32)| Route {
        network: network.parse().unwrap(),
        table: *table,
    };
    routes.iter().map(route).collect()
}

#[test]
fn chooses_what_the_document_leaves_open() {
    let plan = planned("", "AllowedIPs = 192.168.10.7/24, 10.98.0.0/24, 192.168.10.0/24").unwrap();
    assert_eq!(plan.mtu, 1420, "not what the jumbo frames of a VPC would allow");
    assert_eq!(plan.peers[0].keepalive, 25);
    assert_eq!(
        plan.routing.routes,
        routes(&[("192.168.10.0/24", MAIN)]),
        "masked, once, and none that the address brings"
    );
    assert_eq!(plan.addresses, networks(&["10.98.0.2/24"]), "host bits kept");
    assert_eq!((plan.routing.outside, plan.routing.policy), (vec![], None));
}

#[test]
fn takes_what_the_document_says() {
    let plan = planned(
        "MTU = 1380\nListenPort = 51820\nFwMark = 0x20\nTable = 77",
        "PersistentKeepalive = off\nAllowedIPs = 192.168.10.0/24",
    )
    .unwrap();
    assert_eq!((plan.mtu, plan.listen_port, plan.fwmark), (1380, Some(51820), Some(32)));
    assert_eq!(plan.routing.routes, routes(&[("192.168.10.0/24", 77)]));
    assert_eq!(plan.peers[0].keepalive, 0);
}

#[test_case(1500, 1420; "an ordinary link")]
#[test_case(1400, 1320; "a smaller one")]
#[test_case(9001, 1420; "jumbo frames")]
fn leaves_room_for_the_overhead(link: u32, expected: u32) {
    let below = Below { mtu: link, ..below() };
    assert_eq!(planned_on(&below, "", "").unwrap().mtu, expected);
}

#[test_case("172.31.0.0/20", "in the VPC's subnet `172.31.0.0/20`"; "the subnet")]
#[test_case("172.31.1.0/24", "in the VPC's subnet `172.31.0.0/20`"; "a part of the subnet")]
#[test_case("172.31.64.0/20", "in the VPC's network `172.31.0.0/16`"; "another subnet")]
#[test_case("169.254.169.254/32", "the VPC's own service `169.254.169.254`"; "the metadata service")]
#[test_case("fd00:ec2::254/128", "the VPC's own service `fd00:ec2::254`"; "the metadata service of version 6")]
#[test_case("10.2.0.2/32", "the VPC's resolver `10.2.0.2`"; "the resolver")]
#[test_case("198.51.100.20/32", "the tunnel's own endpoint `198.51.100.20`"; "the endpoint")]
#[test_case("203.0.113.7/32", "the provisioner `203.0.113.7`"; "the provisioner")]
fn refuses_to_take_away(network: &str, expected: &str) {
    let error = planned("", &format!("AllowedIPs = 192.168.10.0/24, {network}"))
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected) && error.contains(KEY), "{error}");
}

#[test_case("172.16.0.0/12", &["172.31.0.0/16"]; "more than the VPC")]
#[test_case("10.0.0.0/8", &["10.2.0.2/32"]; "the resolver")]
#[test_case("169.254.0.0/16", &["169.254.169.123/32", "169.254.169.253/32", "169.254.169.254/32"]; "the services")]
#[test_case("198.51.100.0/24", &["198.51.100.20/32"]; "the endpoint")]
#[test_case("192.0.0.0/2", &["198.51.100.20/32", "203.0.113.7/32"]; "a quarter of the world")]
#[test_case("fd00::/8", &[]; "services that a VPC without version 6 does not have")]
fn keeps_outside_what_a_wider_network_would_take_along(network: &str, expected: &[&str]) {
    let plan = planned("", &format!("AllowedIPs = {network}")).unwrap();
    assert_eq!(plan.routing.outside, networks(expected));
    assert_eq!(plan.routing.routes, routes(&[(network, MAIN)]));
    assert_eq!(plan.routing.policy, None);
}

#[test]
fn leaves_to_the_subnets_own_route_what_is_on_it() {
    let below = Below {
        resolvers: vec!["172.31.0.2".parse().unwrap()],
        vpc: vec![],
        ..below()
    };
    let plan = planned_on(&below, "", "AllowedIPs = 172.16.0.0/12").unwrap();
    assert_eq!(plan.routing.outside, []);
}

#[test]
fn routes_everything_as_wg_quick_does() {
    let below = Below {
        gateways: vec!["172.31.0.1".parse().unwrap(), "fe80::1".parse().unwrap()],
        networks: networks(&["172.31.0.10/20", "2001:db8:1::10/128", "fe80::2/64"]),
        ..below()
    };
    let plan = planned_on(&below, "", "AllowedIPs = 0.0.0.0/0, ::/0, 192.168.10.0/24").unwrap();
    let expected = [("0.0.0.0/0", 51820), ("192.168.10.0/24", MAIN), ("::/0", 51820)];
    assert_eq!(plan.routing.routes, routes(&expected));
    let policy = Policy {
        mark: 51820,
        v4: true,
        v6: true,
    };
    assert_eq!((plan.routing.policy, plan.fwmark), (Some(policy), Some(51820)));
    let outside = [
        "10.2.0.2/32",
        "169.254.169.123/32",
        "169.254.169.253/32",
        "169.254.169.254/32",
        "172.31.0.0/16",
        "198.51.100.20/32",
        "203.0.113.7/32",
        "fd00:ec2::123/128",
        "fd00:ec2::253/128",
        "fd00:ec2::254/128",
    ];
    assert_eq!(plan.routing.outside, networks(&outside));
}

#[test]
fn takes_the_documents_mark_for_the_policy() {
    let plan = planned("FwMark = 0x20", "AllowedIPs = ::/0").unwrap();
    assert_eq!(plan.routing.routes, routes(&[("::/0", 0x20)]));
    let policy = plan.routing.policy.unwrap();
    assert_eq!((policy.mark, policy.v4, policy.v6), (0x20, false, true));
}

#[test_case("Table = off", &[]; "none")]
#[test_case("Table = 77", &[("0.0.0.0/0", 77)]; "a table that nobody asks")]
fn lets_a_document_without_routes_of_ours_say_anything(table: &str, expected: &[(&str, u32)]) {
    let plan = planned(table, "AllowedIPs = 0.0.0.0/0").unwrap();
    assert_eq!(plan.routing.routes, routes(expected));
    assert_eq!((plan.routing.policy, plan.fwmark), (None, None));
    assert_eq!(plan.routing.outside, []);
}

#[test]
fn guards_the_main_table_by_its_number_too() {
    let plan = planned("Table = 254", "AllowedIPs = 10.0.0.0/8").unwrap();
    assert_eq!(plan.routing.outside, networks(&["10.2.0.2/32"]));
    assert!(planned("Table = 254", "AllowedIPs = 172.31.0.0/20").is_err());
}

#[test]
fn gives_a_network_to_the_last_peer_that_names_it() {
    let peers = format!("AllowedIPs = 10.7.0.0/16, 10.8.0.0/16\n[Peer]\nPublicKey = {OTHER}\nAllowedIPs = 10.8.0.0/16");
    let plan = planned("", &peers).unwrap();
    assert_eq!(plan.peers[0].allowed_ips, networks(&["10.7.0.0/16"]));
    assert_eq!(plan.peers[1].allowed_ips, networks(&["10.8.0.0/16"]));
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
