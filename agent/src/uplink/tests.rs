use std::net::IpAddr;

use test_case::test_case;

use super::{Uplink, nameservers};
use crate::names::HEADER;
use crate::state::State;

#[test_case("", &[]; "nothing")]
#[test_case("nameserver 172.31.0.2\n", &["172.31.0.2"]; "one server")]
#[test_case("# nameserver 10.0.0.1\nsearch a\nnameserver\t10.0.0.2 # x\n", &["10.0.0.2"]; "comments and other lines")]
#[test_case("nameserver 127.0.0.53\nnameserver ::1\n", &[]; "stubs on loopback")]
#[test_case("nameserver fe80::1%ens5\nnameserver fd00:ec2::253\n", &["fe80::1", "fd00:ec2::253"]; "version 6")]
#[test_case("nameserver example\nnameservers 10.0.0.1\nnameserver", &[]; "nonsense")]
fn reads_resolver_files(text: &str, expected: &[&str]) {
    let expected: Vec<IpAddr> = expected.iter().map(|it| it.parse().unwrap()).collect();
    assert_eq!(nameservers(text), expected);
}

#[test]
fn remembers_what_dhcp_gave_when_the_files_say_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resolv.conf");
    let uplink = Uplink::new(
        &folder.path().join("uplink.json"),
        &["/nonexistent", file.to_str().unwrap()],
        folder.path(),
    );
    assert!(uplink.servers().unwrap_err().to_string().contains("no DNS server"));

    std::fs::write(&file, "nameserver 172.31.0.2\n").unwrap();
    let expected: Vec<IpAddr> = vec!["172.31.0.2".parse().unwrap()];
    assert_eq!(uplink.servers().unwrap(), expected);

    std::fs::write(&file, "nameserver 192.168.10.1\n").unwrap();
    assert_eq!(uplink.servers().unwrap(), expected);
}

/// Where nobody but the agent writes the file, it still has the agent's servers when the machine starts again.
#[test]
fn takes_no_file_of_the_agents_own_for_what_dhcp_gave() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resolv.conf");
    let uplink = Uplink::new(
        &folder.path().join("uplink.json"),
        &[file.to_str().unwrap()],
        folder.path(),
    );
    std::fs::write(&file, format!("{HEADER}nameserver 192.168.10.1\n")).unwrap();
    assert!(uplink.servers().unwrap_err().to_string().contains("no DNS server"));

    let state = State::open(folder.path(), &"i-0123abcd".parse().unwrap()).unwrap();
    let record = r#"{"resolv_conf":{"file":"nameserver 172.31.0.2\n"},"knew_own_name":true}"#;
    std::fs::write(state.names(), record).unwrap();
    let expected: Vec<IpAddr> = vec!["172.31.0.2".parse().unwrap()];
    assert_eq!(uplink.servers().unwrap(), expected);
}

#[test]
fn who_only_looks_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (file, remembered) = (folder.path().join("resolv.conf"), folder.path().join("uplink.json"));
    std::fs::write(&file, "nameserver 172.31.0.2\n").unwrap();
    let uplink = Uplink::new(&remembered, &[file.to_str().unwrap()], folder.path()).only_looking();
    assert_eq!(uplink.servers().unwrap().len(), 1);
    assert!(!remembered.exists());
}

#[tokio::test]
async fn needs_no_server_for_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let uplink = Uplink::new(&folder.path().join("uplink.json"), &[], folder.path());
    assert_eq!(uplink.resolve("192.0.2.1").await.unwrap().len(), 1);
    assert!(uplink.resolve("name.example").await.is_err());
}
