//! The image: what Packer reads, and what its script does to a machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use dynk8s_lab::host::command::run;

use crate::{debian, packaging};

const TEMPLATE: &str = "image/dynk8s.pkr.hcl";
const SCRIPT: &str = "image/provision.sh";

/// Stands for Fedora's programs: says what it was asked, and puts there what packages bring that may not stay.
const PROGRAM: &str = r#"#!/bin/sh
echo "$(basename "$0") $*" >> /called
case "$(basename "$0") $2" in
"dnf install")
    mkdir -p /etc/cni/net.d /etc/dynk8s
    touch /etc/cni/net.d/100-crio-bridge.conflist /etc/dynk8s/agent.toml
    ;;
esac
"#;

/// Runs the script, and then says what it called, and what is there now.
const RUN: &str = "mkdir -p /etc/yum.repos.d
touch /tmp/agent.rpm
sh -eu /mnt/provision.sh
cat /called
find /etc/cni/net.d /etc/dynk8s /tmp -type f
stat --format='%n is %s long' /etc/systemd/zram-generator.conf
grep -h baseurl /etc/yum.repos.d/*.repo
cat /etc/modules-load.d/dynk8s.conf /etc/sysctl.d/90-dynk8s.conf";

const DONE: &str = "dnf --assumeyes upgrade
dnf --assumeyes install container-selinux cri-o kubeadm kubelet /tmp/agent.rpm
swapoff --all
rpm --query zram-generator-defaults
dnf --assumeyes remove zram-generator-defaults
systemctl enable crio.service
dnf clean all
dynk8s-agent prepare-image
/etc/systemd/zram-generator.conf is 0 long
baseurl=https://download.opensuse.org/repositories/isv:/cri-o:/stable:/v1.37/rpm/
baseurl=https://pkgs.k8s.io/core:/stable:/v1.37/rpm/
br_netfilter
overlay
net.bridge.bridge-nf-call-iptables = 1
net.ipv4.ip_forward = 1
";

#[test]
fn the_script_installs_everything_and_leaves_nothing_that_would_be_in_the_way() {
    let programs = tempfile::tempdir().unwrap();
    fs::set_permissions(programs.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(programs.path().join("program"), PROGRAM).unwrap();
    fs::set_permissions(programs.path().join("program"), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["dnf", "dynk8s-agent", "rpm", "swapoff", "systemctl"] {
        symlink("program", programs.path().join(name)).unwrap();
    }
    let shown: [(&Path, &str); 2] = [
        (programs.path(), "/usr/local/bin"),
        (&packaging(SCRIPT), "/mnt/provision.sh"),
    ];
    let run_it = format!("export PATH=/usr/local/bin:$PATH KUBERNETES_RELEASE=1.37 PACKAGE=/tmp/agent.rpm\n{RUN}");
    let said = run(&mut debian().unwrap().command(&shown, &["sh", "-ec", &run_it])).unwrap();
    assert_eq!(said, DONE);
}

#[test]
fn scripts_are_what_shellcheck_asks_for() {
    let scripts = [SCRIPT, "rpm/licences", "container/image", "container/sbom"];
    let scripts = scripts.map(|it| format!("/mnt/{it}"));
    let words: Vec<_> = ["shellcheck"]
        .into_iter()
        .chain(scripts.iter().map(String::as_str))
        .collect();
    run(&mut debian().unwrap().command(&[(&packaging(""), "/mnt")], &words)).unwrap();
}

#[test]
fn the_template_makes_an_image_for_each_architecture() {
    let text = fs::read_to_string(packaging(TEMPLATE)).unwrap();
    let body: hcl::Body = hcl::from_str(&text).unwrap();
    let build = body.blocks().find(|it| it.identifier() == "build").unwrap();
    let value = |block: &hcl::Block, key: &str| {
        let mut attributes = block.body().attributes();
        let found = attributes.find(|it| it.key() == key);
        found.map(|it| it.expr().to_string())
    };
    let named = |kind: &str, key: &str| -> Vec<String> {
        let blocks = build.body().blocks().filter(|it| it.identifier() == kind);
        blocks.filter_map(|it| value(it, key)).collect()
    };
    assert_eq!(named("source", "name"), ["\"x86_64\"", "\"arm64\""]);
    assert_eq!(named("provisioner", "script"), ["\"${path.root}/provision.sh\""]);
    assert_eq!(named("provisioner", "only").len(), 2);
}
