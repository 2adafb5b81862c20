//! Who has which address and which name in the lab.

use std::net::{Ipv4Addr, Ipv6Addr};

pub const ACCOUNT: &str = "123456789012";
pub const REGION: &str = "eu-central-1";
pub const ZONE: &str = "eu-central-1a";

/// Of which the instances' subnet is a part.
pub const VPC_NETWORK: &str = "172.31.0.0/16";
pub const VPC_PREFIX: u8 = 20;
pub const VPC_ROUTER: Ipv4Addr = Ipv4Addr::new(172, 31, 0, 1);
pub const VPC_RESOLVER: Ipv4Addr = Ipv4Addr::new(172, 31, 0, 2);
pub const VPC_FIRST_INSTANCE: Ipv4Addr = Ipv4Addr::new(172, 31, 0, 10);
pub const VPC_LAST_INSTANCE: Ipv4Addr = Ipv4Addr::new(172, 31, 15, 250);
pub const VPC_NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 240, 0);
pub const VPC_DOMAIN: &str = "eu-central-1.compute.internal";
pub const LINK_LOCAL_RESOLVER: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 253);
pub const IMDS: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// For those who ask over IPv6: the same service, and where such a packet goes first.
pub const IMDS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
pub const VPC_ROUTER_V6: Ipv6Addr = vpc_v6(VPC_ROUTER);
pub const VPC_PREFIX_V6: u8 = 64;

/// The address over IPv6 of who has this one over IPv4.
pub const fn vpc_v6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    Ipv6Addr::new(
        0x2001,
        0xdb8,
        0x31,
        0,
        0,
        0,
        u16::from_be_bytes([a, b]),
        u16::from_be_bytes([c, d]),
    )
}

pub const VPC_PUBLIC: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 10);
pub const PREMISES_PUBLIC: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 20);
pub const AWS_ENDPOINTS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 30);

pub const PREMISES_GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 10, 1);
pub const API_SERVER: Ipv4Addr = Ipv4Addr::new(192, 168, 10, 10);
pub const PREMISES_NETWORK: &str = "192.168.10.0/24";
pub const PREMISES_DOMAIN: &str = "onprem.example";

pub const TUNNEL_NETWORK: &str = "10.98.0.0/24";
pub const TUNNEL_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
pub const TUNNEL_PORT: u16 = 51820;
/// 1500 less what WireGuard adds over IPv6, as `wg-quick` reckons.
pub const TUNNEL_MTU: u16 = 1420;

pub const API_SERVER_NAME: &str = "api.onprem.example";
pub const PROVISIONER_NAME: &str = "dynk8s.onprem.example";
pub const GATEWAY_NAME: &str = "vpn.onprem.example";
pub const STS_NAME: &str = "sts.eu-central-1.amazonaws.com";
pub const SNS_NAME: &str = "sns.eu-central-1.amazonaws.com";
pub const EC2_NAME: &str = "ec2.eu-central-1.amazonaws.com";
pub const AUTO_SCALING_NAME: &str = "autoscaling.eu-central-1.amazonaws.com";

/// What every resolver of the internet knows.
pub const PUBLIC_NAMES: [(&str, Ipv4Addr); 6] = [
    (GATEWAY_NAME, PREMISES_PUBLIC),
    (PROVISIONER_NAME, PREMISES_PUBLIC),
    (STS_NAME, AWS_ENDPOINTS),
    (SNS_NAME, AWS_ENDPOINTS),
    (EC2_NAME, AWS_ENDPOINTS),
    (AUTO_SCALING_NAME, AWS_ENDPOINTS),
];

/// What only the resolver on the premises knows.
pub const PRIVATE_NAMES: [(&str, Ipv4Addr); 2] = [
    (API_SERVER_NAME, API_SERVER),
    ("gateway.onprem.example", PREMISES_GATEWAY),
];
