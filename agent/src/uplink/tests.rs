use std::net::IpAddr;

use test_case::test_case;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::{Uplink, https_client, nameservers};
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

/// The name is the proxy's to resolve: this uplink has no server that could.
#[tokio::test]
async fn reaches_the_provisioner_through_the_proxy_alone() {
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let heard = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let mut bytes = [0; 1024];
        let length = stream.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    });
    let folder = tempfile::tempdir().unwrap();
    let uplink = Uplink::new(&folder.path().join("uplink.json"), &[], folder.path());
    let client = https_client(&uplink, None, Some(&proxy)).unwrap();
    let answer = client.get("https://dynk8s.example.com/").send().await;
    assert!(answer.is_err(), "the proxy hangs up");
    let heard = heard.await.unwrap();
    assert!(
        heard.starts_with("CONNECT dynk8s.example.com:443 HTTP/1.1\r\n"),
        "{heard}"
    );
}
