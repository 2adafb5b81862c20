//! The agent needs nothing of the machine that it runs on.

use std::process::Command;

use dynk8s_lab::host::command::run;
use dynk8s_lab::product;

/// glibc's getaddrinfo reads this file; a program that contains its name contains getaddrinfo.
const READ_BY_GETADDRINFO: &[u8] = b"/etc/gai.conf";

#[tokio::test]
async fn the_agent_is_static_and_has_no_getaddrinfo() {
    let agent = product::build().await.unwrap().agent;
    let elf = |flag: &str| run(Command::new("readelf").args([flag, "--wide"]).arg(&agent)).unwrap();
    let headers = elf("--program-headers");
    assert!(headers.contains("LOAD") && !headers.contains("INTERP"), "{headers}");
    let dynamic = elf("--dynamic");
    assert!(!dynamic.contains("NEEDED"), "{dynamic}");
    // It ends with a failure where there is nothing to list.
    let ldd = Command::new("ldd").arg(&agent).output().unwrap();
    let ldd = String::from_utf8_lossy(&[ldd.stdout, ldd.stderr].concat()).into_owned();
    assert!(
        ldd.contains("statically linked") || ldd.contains("not a dynamic executable"),
        "{ldd}"
    );
    let content = std::fs::read(&agent).unwrap();
    let found = content
        .windows(READ_BY_GETADDRINFO.len())
        .any(|it| it == READ_BY_GETADDRINFO);
    assert!(!found, "something in {} can call getaddrinfo", agent.display());
    let megabytes = content.len() / 1_000_000;
    assert!(megabytes < 9, "{megabytes} MB");
}
