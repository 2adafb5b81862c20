//! Addresses, routes and rules in a network namespace of the test's own, made from nothing and asked of the kernel.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use dynk8s_api::wireguard::Document;

use super::super::plan::{Below, Plan, plan};
use super::{Netlink, UplinkLink};

/// Set for the process that runs inside of the namespace.
const INSIDE: &str = "DYNK8S_TEST_INSIDE";

/// An instance's network as DHCP makes it, and an interface that stands for the tunnel's. The kernel makes no addresses of
/// its own, for it would take its time.
const NETWORK: &str = "
    echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
    ip link set lo up
    ip link add ens5 type veth peer name vpc && ip link set vpc up
    ip address add 172.31.0.10/20 dev ens5 && ip link set ens5 up
    ip -6 address add 2001:db8:1::10/64 dev ens5 nodad
    ip route add default via 172.31.0.1 proto dhcp
    ip -6 route add default via fe80::1 dev ens5
    ip link add dynk8s type veth peer name gateway && ip link set gateway up
    exec \"$@\"
";

/// Runs a test again, in a namespace without anything of the host's.
fn within_a_namespace(test: &str, body: impl AsyncFnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(body());
    }
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-ec", NETWORK, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The way that a packet to somewhere takes.
fn way(arguments: &str) -> String {
    ip(&format!("route get {arguments}"))
}

fn everything() -> String {
    [
        "address",
        "rule",
        "-6 rule",
        "route show table all",
        "-6 route show table all",
    ]
    .map(ip)
    .join("\n")
}

fn planned(uplink: &UplinkLink, address: &str, allowed: &str) -> Plan {
    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=";
    let text = format!(
        "[Interface]\nPrivateKey = {KEY}\nAddress = {address}\n[Peer]\nPublicKey = {KEY}\nAllowedIPs = {allowed}\n"
    );
    let below = Below {
        mtu: uplink.mtu,
        networks: uplink.networks.clone(),
        gateways: uplink.gateways.clone(),
        vpc: vec!["172.31.0.0/16".parse().unwrap()],
        resolvers: vec!["172.31.0.2".parse().unwrap()],
        provisioner: vec!["198.51.100.21".parse().unwrap()],
    };
    let endpoint: SocketAddr = "198.51.100.20:51820".parse().unwrap();
    plan(&Document::parse(&text).unwrap(), &[vec![endpoint]], &below).unwrap()
}

#[test]
fn everything_goes_through_but_what_must_not() {
    within_a_namespace("everything_goes_through_but_what_must_not", async || {
        let netlink = Netlink::open().unwrap();
        let uplink = netlink.uplink().await.unwrap();
        assert_eq!((uplink.name.as_str(), uplink.gateways.len()), ("ens5", 2));
        let plan = planned(
            &uplink,
            "10.98.0.2/24, fd00:98::2/64",
            "0.0.0.0/0, ::/0, 192.168.10.7/24",
        );
        netlink.apply(&plan, &uplink).await.unwrap();
        for inside in ["192.168.10.1", "9.9.9.9", "10.98.0.1", "2620:fe::fe"] {
            assert!(way(inside).contains("dev dynk8s"), "{}", way(inside));
        }
        for outside in [
            "169.254.169.254",
            "169.254.169.253",
            "169.254.169.123",
            "172.31.0.2",
            "172.31.64.7",
            "198.51.100.20",
            "198.51.100.21",
            "9.9.9.9 mark 51820",
            "fd00:ec2::254",
            "2620:fe::fe mark 51820",
        ] {
            assert!(way(outside).contains("dev ens5"), "{}", way(outside));
        }
        assert!(
            way("172.31.0.2").contains("dev ens5") && !way("172.31.0.2").contains("via"),
            "on the subnet itself"
        );
        assert!(ip("link show dynk8s").contains("mtu 1420"));
    });
}

#[test]
fn what_is_right_is_not_touched_and_what_is_no_longer_wanted_goes() {
    within_a_namespace(
        "what_is_right_is_not_touched_and_what_is_no_longer_wanted_goes",
        async || {
            ip("address add 10.77.0.1/24 dev dynk8s");
            let netlink = Netlink::open().unwrap();
            let uplink = netlink.uplink().await.unwrap();
            let narrow = planned(&uplink, "10.98.0.2/24", "192.168.10.0/24");
            netlink.apply(&narrow, &uplink).await.unwrap();
            assert!(
                !ip("address show dynk8s").contains("10.77.0.1"),
                "an address that nobody wants"
            );
            let before = everything();

            let wide = planned(&uplink, "10.98.0.2/24", "0.0.0.0/0, ::/0");
            netlink.apply(&wide, &uplink).await.unwrap();
            assert_ne!(everything(), before);
            let mut monitor = Command::new("ip")
                .args(["monitor", "link", "address", "route", "rule"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
            netlink.apply(&wide, &uplink).await.unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
            monitor.kill().unwrap();
            let output = monitor.wait_with_output().unwrap().stdout;
            assert_eq!(
                String::from_utf8_lossy(&output),
                "",
                "nothing changed, so nothing was touched"
            );

            netlink.apply(&narrow, &uplink).await.unwrap();
            assert_eq!(everything(), before);
        },
    );
}

#[test]
fn a_route_of_somebody_elses_is_never_replaced() {
    within_a_namespace("a_route_of_somebody_elses_is_never_replaced", async || {
        ip("route add 192.168.10.0/24 via 172.31.0.1 metric 100");
        let netlink = Netlink::open().unwrap();
        let uplink = netlink.uplink().await.unwrap();
        let plan = planned(&uplink, "10.98.0.2/24", "192.168.10.0/24");
        let error = netlink.apply(&plan, &uplink).await.unwrap_err().to_string();
        assert!(
            error.contains("192.168.10.0/24") && error.contains("already"),
            "{error}"
        );
        assert!(way("192.168.10.1").contains("dev ens5"));
        // But where it keeps outside what we want outside, it is right.
        ip("route add 198.51.100.20 via 172.31.0.1");
        let plan = planned(&uplink, "10.98.0.2/24", "198.51.100.0/24");
        netlink.apply(&plan, &uplink).await.unwrap();
        assert!(way("198.51.100.20").contains("dev ens5") && way("198.51.100.9").contains("dev dynk8s"));
    });
}
