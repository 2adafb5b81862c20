//! A node is taken apart, and its disk becomes that of another instance: what must be gone, and what must be as it was before.

use anyhow::{Context, ensure};
use dynk8s_lab::machine::{File, Machine};
use dynk8s_lab::story::checks;
use dynk8s_lab::topology::addresses::VPC_RESOLVER;

use crate::stage::Node;

const HOSTS: &str = include_str!("../../image/rootfs/etc/hosts");
const STATE: &str = "/var/lib/dynk8s";
const LOG_OF_A_DAEMON: &str = "/var/log/syslog";
/// What an agent or a join makes, and nothing else does.
const OURS: &[&str] = &[
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/pki/ca.crt",
    "/var/lib/kubelet/pki",
    "/var/lib/kubelet/config.yaml",
    "/etc/dynk8s/resolv.conf",
    "/run/dynk8s",
    "/run/systemd/network/50-vpc.network.d/90-dynk8s.conf",
    "/run/NetworkManager/conf.d/90-dynk8s.conf",
];

/// A journal on the disk, as most systems keep theirs.
pub(crate) fn journal_on_disk() -> File {
    let path = "/etc/systemd/journald.conf.d/lab.conf";
    File::new(path, 0o644, "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\n")
}

/// `reset`, and once more, which finds nothing to do.
pub(crate) async fn by_reset(node: &Node) -> anyhow::Result<()> {
    let machine = &node.machine;
    let refused = machine.exec(&["dynk8s-agent", "reset"]).await?;
    ensure!(
        refused.code == 1 && refused.stderr.contains("systemctl stop dynk8s-agent"),
        "`reset` below a running agent: {refused:?}"
    );
    machine.run(&["systemctl", "stop", "dynk8s-agent"]).await?;
    let told = machine.run(&["dynk8s-agent", "reset"]).await?;
    host_is_as_before(machine)
        .await
        .with_context(|| format!("after a reset that told: {told}"))?;
    no_secret_is_left(node).await?;
    let again = machine.run(&["dynk8s-agent", "reset"]).await?;
    let did: Vec<&str> = again.lines().filter(|line| !line.starts_with("next: ")).collect();
    ensure!(did.is_empty(), "a second reset tells: {did:?}");
    Ok(())
}

/// Nothing on the host shows that an agent was ever there, except its program, its configuration and its state.
pub(crate) async fn host_is_as_before(machine: &Machine) -> anyhow::Result<()> {
    for path in OURS {
        let found = machine.exec(&["test", "-e", path]).await?;
        ensure!(found.code == 1, "`{path}` is still there");
    }
    let links = machine.run(&["ip", "-oneline", "link"]).await?;
    ensure!(!links.contains("dynk8s"), "the interface is still there:\n{links}");
    for family in ["-4", "-6"] {
        let routes = machine
            .run(&["ip", family, "route", "show", "table", "all", "proto", "216"])
            .await?;
        ensure!(routes.trim().is_empty(), "routes of ours are left:\n{routes}");
        let rules = machine.run(&["ip", family, "-details", "rule", "show"]).await?;
        ensure!(!rules.contains("proto 216"), "rules of ours are left:\n{rules}");
    }
    for (verb, wanted) in [("is-active", "inactive"), ("is-enabled", "disabled")] {
        let kubelet = machine.exec(&["systemctl", verb, "kubelet"]).await?.stdout;
        ensure!(kubelet.trim() == wanted, "for `{verb}` the kubelet is {kubelet}");
    }
    let hosts = machine.read("/etc/hosts").await?;
    ensure!(hosts == HOSTS, "/etc/hosts is not as it was:\n{hosts}");
    names_are_the_hosts_own(machine).await
}

/// Nobody but the VPC's resolver is asked, in the way of the image.
async fn names_are_the_hosts_own(machine: &Machine) -> anyhow::Result<()> {
    let file = if machine
        .exec(&["systemctl", "is-active", "systemd-resolved"])
        .await?
        .code
        == 0
    {
        let link = machine.run(&["readlink", "/etc/resolv.conf"]).await?;
        ensure!(
            link.trim() == "../run/systemd/resolve/stub-resolv.conf",
            "/etc/resolv.conf points at {link}"
        );
        "/run/systemd/resolve/resolv.conf"
    } else {
        "/etc/resolv.conf"
    };
    let servers = checks::resolvers(machine, file).await?;
    ensure!(servers == [VPC_RESOLVER.to_string()], "`{file}` lists {servers:?}");
    Ok(())
}

/// Neither the tunnel's key nor a token is anywhere, and no other private key than the two with which a claim goes on.
async fn no_secret_is_left(node: &Node) -> anyhow::Result<()> {
    for secret in node.secrets() {
        let found = files_with(&node.machine, &secret).await?;
        ensure!(found.is_empty(), "a secret is left in {found:?}");
    }
    let found = files_with(&node.machine, "PRIVATE KEY").await?;
    let kept = format!("{STATE}/{}/kubelet.key", node.newcomer.instance.id);
    ensure!(found == [kept], "private keys are in {found:?}");
    Ok(())
}

/// `prepare-image` on a machine with logs, from which nothing can be told about the instance that it was.
pub(crate) async fn into_an_image(node: &Node) -> anyhow::Result<()> {
    let machine = &node.machine;
    let id = &node.newcomer.instance.id;
    let script = format!("journalctl --flush && echo {id} | tee {LOG_OF_A_DAEMON} > /var/log/pods/{id}.log");
    machine.run(&["mkdir", "-p", "/var/log/pods"]).await?;
    machine.run(&["sh", "-c", &script]).await?;
    ensure!(
        !files_with(machine, id).await?.is_empty(),
        "the id is nowhere before it is removed"
    );

    let told = machine.run(&["dynk8s-agent", "prepare-image"]).await?;
    host_is_as_before(machine).await?;
    for (path, is_folder) in [
        ("/etc/machine-id", false),
        (LOG_OF_A_DAEMON, false),
        ("/var/log/journal", true),
        ("/var/log/pods", true),
    ] {
        let test = if is_folder {
            format!("[ -d {path} ] && [ -z \"$(ls -A {path})\" ]")
        } else {
            format!("[ -f {path} ] && [ ! -s {path} ]")
        };
        let empty = machine.exec(&["sh", "-c", &test]).await?;
        ensure!(
            empty.code == 0,
            "`{path}` is not empty after `prepare-image`, which told:\n{told}"
        );
    }
    for trace in [id.as_str(), "PRIVATE KEY"] {
        let found = files_with(machine, trace).await?;
        ensure!(found.is_empty(), "`{trace}` is left in {found:?}");
    }
    let state = machine.exec(&["test", "-e", STATE]).await?;
    ensure!(state.code == 1, "`{STATE}` is still there");
    Ok(())
}

/// The files of a running system, apart from a runtime's images and the journal of this boot, that have this text.
async fn files_with(machine: &Machine, text: &str) -> anyhow::Result<Vec<String>> {
    let grep = [
        "grep",
        "--recursive",
        "--files-with-matches",
        "--fixed-strings",
        "--no-messages",
        "--devices=skip",
        "--exclude-dir=containerd",
        "--exclude-dir=journal",
        "--exclude-dir=udev",
        // The programs of containers, kubeadm among them, hold such words themselves.
        "--exclude=images.tar",
        "--regexp",
        text,
        "/etc",
        "/var/lib",
        "/var/log",
        "/run",
    ];
    let found = machine.exec(&grep).await?;
    ensure!(
        found.code < 2 || found.stderr.is_empty(),
        "failed to search: {}",
        found.stderr
    );
    Ok(found.stdout.lines().map(ToOwned::to_owned).collect())
}
