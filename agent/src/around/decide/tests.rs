use dynk8s_api::progress::MAX_TEXT;
use serde_json::{Value, json};
use test_case::test_case;

use super::{Asked, Mtu, Pods, Seen, Tried, addresses, findings, is_served, pods};

fn tried(fault: Option<&str>) -> Tried {
    Tried {
        address: "192.168.10.10:6443".parse().unwrap(),
        fault: fault.map(str::to_owned),
    }
}

fn asked(udp: bool, tcp: bool) -> Asked {
    let server = "10.96.0.10".parse().unwrap();
    Asked { server, udp, tcp }
}

fn mtu(pods: u32) -> Mtu {
    Mtu {
        pods,
        of: "the interface `cni0`".to_owned(),
        tunnel: 1420,
    }
}

#[test]
fn what_was_not_looked_at_is_neither_sound_nor_impaired() {
    assert_eq!(findings(&Seen::default()), None);
    let seen = Seen {
        mtu: Some(mtu(1420)),
        ..Seen::default()
    };
    assert_eq!(findings(&seen), Some(Vec::new()));
}

#[test_case(true, true, None; "both")]
#[test_case(true, false, Some("10.96.0.10 answers by UDP and not by TCP"); "one way")]
#[test_case(false, true, Some("10.96.0.10 answers by TCP and not by UDP"); "the other way")]
#[test_case(false, false, Some("10.96.0.10 answers neither by UDP nor by TCP"); "no way")]
fn cluster_dns_answers_by_both_ways(udp: bool, tcp: bool, expected: Option<&str>) {
    let seen = Seen {
        dns: vec![asked(udp, tcp)],
        ..Seen::default()
    };
    check(&seen, expected);
}

#[test_case(None, None; "it answers")]
#[test_case(Some("connection refused"), Some("sent to 192.168.10.10:6443: connection refused; let the tunnel's `AllowedIPs`"); "it does not")]
fn each_api_server_answers(fault: Option<&str>, expected: Option<&str>) {
    let seen = Seen {
        servers: vec![tried(None), tried(fault)],
        ..Seen::default()
    };
    check(&seen, expected);
}

#[test_case(1370, None; "smaller")]
#[test_case(1420, None; "as large")]
#[test_case(1421, Some("up to 1421 bytes (the interface `cni0`) and those of the tunnel 1420"); "larger")]
fn packets_of_pods_fit_into_the_tunnel(pods: u32, expected: Option<&str>) {
    let seen = Seen {
        mtu: Some(mtu(pods)),
        ..Seen::default()
    };
    check(&seen, expected);
}

fn check(seen: &Seen, expected: Option<&str>) {
    let found = findings(seen).unwrap();
    assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
    if let Some(expected) = expected {
        assert!(
            found[0].contains(expected) && found[0].len() <= MAX_TEXT,
            "{} bytes: {found:?}",
            found[0].len()
        );
    }
}

#[test]
fn the_endpoints_name_the_api_servers() {
    let endpoints = json!({"subsets": [
        {"addresses": [{"ip": "192.168.10.10"}, {"ip": "fd00::10"}], "ports": [{"name": "other", "port": 1}, {"name": "https", "port": 6443}]},
        {"addresses": [{"ip": "192.168.10.12"}, {"ip": "no address"}, {}], "ports": [{"port": 443}]},
        {"addresses": [{"ip": "192.168.10.13"}], "ports": [{"port": 65536}]},
        {"notReadyAddresses": [{"ip": "192.168.10.14"}], "ports": [{"port": 443}]},
    ]});
    let expected = ["192.168.10.10:6443", "[fd00::10]:6443", "192.168.10.12:443"];
    assert_eq!(addresses(&endpoints), expected.map(|it| it.parse().unwrap()));
    assert_eq!(addresses(&Value::Null), []);
}

#[test]
fn no_more_of_them_are_asked_than_there_may_be() {
    let all: Vec<Value> = (0..100).map(|it| json!({"ip": format!("10.0.0.{it}")})).collect();
    let endpoints = json!({"subsets": [{"addresses": all, "ports": [{"port": 443}]}]});
    assert_eq!(addresses(&endpoints).len(), 8);
}

#[test_case("10.96.0.10", true; "a Service")]
#[test_case("fd00::a", true; "the second address of one")]
#[test_case("10.96.0.11", false; "what nobody has installed")]
#[test_case("169.254.20.10", true; "a cache on the node")]
fn dns_is_asked_where_there_is_some(server: &str, expected: bool) {
    let services = json!({"items": [{"spec": {"clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10", "fd00:0::a"]}}, {"spec": {}}]});
    assert_eq!(is_served(server.parse().unwrap(), &services), expected);
}

#[test_case(&json!({"plugins": [{"type": "bridge", "mtu": 1370}, {"type": "portmap"}]}), Some(&Pods::Stated(1370)); "a list")]
#[test_case(&json!({"type": "calico", "mtu": 1380}), Some(&Pods::Stated(1380)); "one plugin")]
#[test_case(&json!({"plugins": [{"type": "flannel", "delegate": {"mtu": 1350}}]}), Some(&Pods::Stated(1350)); "a delegate")]
#[test_case(&json!({"plugins": [{"type": "bridge", "bridge": "br0", "mtu": 0}]}), Some(&Pods::Of("br0".to_owned())); "a bridge")]
#[test_case(&json!({"plugins": [{"type": "bridge"}]}), Some(&Pods::Of("cni0".to_owned())); "the usual bridge")]
#[test_case(&json!({"plugins": [{"type": "cilium-cni"}]}), Some(&Pods::Of("cilium_host".to_owned())); "an interface of its own")]
#[test_case(&json!({"plugins": [{"type": "bridge", "bridge": "../../x"}]}), None; "a path")]
#[test_case(&json!({"plugins": [{"type": "loopback"}]}), None; "one that says nothing")]
#[test_case(&json!([]), None; "no configuration")]
fn the_configuration_tells_the_mtu(configuration: &Value, expected: Option<&Pods>) {
    assert_eq!(pods(configuration).as_ref(), expected);
}
