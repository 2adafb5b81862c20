use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use dynk8s_api::InstanceId;
use tempfile::TempDir;
use test_case::test_case;

use super::Changed;
use crate::names::RESOLVED_FILE;
use crate::names::render::HEADER;
use crate::state::State;

const STUB: &str = "../run/systemd/resolve/stub-resolv.conf";

/// A host's files, and the agent's folder.
struct Host {
    folder: TempDir,
    id: InstanceId,
}

impl Host {
    fn new() -> Self {
        let host = Self {
            folder: tempfile::tempdir().unwrap(),
            id: "i-0123abcd".parse().unwrap(),
        };
        State::open(&host.path("base"), &host.id).unwrap();
        fs::write(host.path("hosts"), "127.0.0.1 localhost\n").unwrap();
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn note(&self) {
        let (resolv_conf, hosts) = (self.path("resolv.conf"), self.path("hosts"));
        let changed = Changed {
            resolv_conf: &resolv_conf,
            hosts: &hosts,
        };
        changed.note(&self.path("base"), &self.id).unwrap();
    }

    fn put_back(&self) -> anyhow::Result<Vec<String>> {
        let (resolv_conf, hosts) = (self.path("resolv.conf"), self.path("hosts"));
        let changed = Changed {
            resolv_conf: &resolv_conf,
            hosts: &hosts,
        };
        changed.put_back(&self.path("base"))
    }

    fn record(&self) -> PathBuf {
        State::at(&self.path("base"), &self.id).names()
    }

    fn hosts(&self) -> String {
        fs::read_to_string(self.path("hosts")).unwrap()
    }
}

#[test]
fn a_link_and_the_nodes_name_are_undone_once() {
    let host = Host::new();
    symlink(STUB, host.path("resolv.conf")).unwrap();
    host.note();
    fs::remove_file(host.path("resolv.conf")).unwrap();
    symlink(RESOLVED_FILE, host.path("resolv.conf")).unwrap();
    fs::write(
        host.path("hosts"),
        "127.0.0.1 localhost\n127.0.1.1 i-0123abcd\n10.0.0.1 new\n",
    )
    .unwrap();
    host.note();

    assert_eq!(host.put_back().unwrap().len(), 2);
    assert_eq!(fs::read_link(host.path("resolv.conf")).unwrap(), Path::new(STUB));
    assert_eq!(
        host.hosts(),
        "127.0.0.1 localhost\n10.0.0.1 new\n",
        "what others wrote stays"
    );
    assert!(!host.record().exists(), "the next run writes down afresh");
    assert!(host.put_back().unwrap().is_empty(), "again is fine");
}

#[test]
fn a_file_comes_back_with_its_content() {
    let host = Host::new();
    fs::write(host.path("resolv.conf"), "nameserver 172.31.0.2\n").unwrap();
    host.note();
    fs::write(host.path("resolv.conf"), format!("{HEADER}nameserver 192.168.10.1\n")).unwrap();
    host.note();
    host.put_back().unwrap();
    let text = fs::read_to_string(host.path("resolv.conf")).unwrap();
    assert_eq!(text, "nameserver 172.31.0.2\n");
}

#[test]
fn a_name_that_the_image_brought_stays() {
    let host = Host::new();
    fs::write(host.path("hosts"), "127.0.1.1 i-0123abcd\n").unwrap();
    host.note();
    host.put_back().unwrap();
    assert_eq!(host.hosts(), "127.0.1.1 i-0123abcd\n");
}

#[test_case(""; "empty")]
#[test_case("{}"; "nothing in it")]
#[test_case(r#"{"resolv_conf":"elsewhere","knew_own_name":true}"#; "an unknown kind")]
#[test_case(r#"{"resolv_conf":"absent","knew_own_name":true,"more":1}"#; "an unknown field")]
fn a_damaged_record_is_named_and_kept(text: &str) {
    let host = Host::new();
    fs::write(host.record(), text).unwrap();
    let error = host.put_back().unwrap_err().to_string();
    assert!(error.contains("names.json"), "{error}");
    assert!(host.record().exists());
}

#[test]
fn a_disk_without_records_is_left_alone() {
    let host = Host::new();
    fs::write(host.path("resolv.conf"), "nameserver 172.31.0.2\n").unwrap();
    assert!(host.put_back().unwrap().is_empty());
}
