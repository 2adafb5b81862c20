//! What `dynk8s-agent plan` says of a journey, and what becomes of it.

use std::process::Command;

use anyhow::{Context, ensure};
use dynk8s_lab::region::Site;
use dynk8s_lab::topology::gateway::Tunnel;

/// The folders of the agent, and those with the files that it changes.
const FOLDERS: [&str; 3] = ["/etc", "/run", "/var/lib"];

/// What the operator has put there.
const GIVEN: [&str; 2] = ["/etc/dynk8s/agent.toml", "/etc/dynk8s/ca.pem"];

/// The plan of a machine that just booted, which still looks as if nobody had asked.
pub(crate) fn is_told_without_a_trace(site: &Site) -> anyhow::Result<String> {
    site.room.write("/tmp/before", "", 0o644)?;
    let network = network(site)?;
    let plan = site.asks("plan")?;
    let changed = find(site, &["-newer", "/tmp/before"])?;
    ensure!(changed.is_empty(), "`plan` has changed {changed:?}");
    ensure!(network == self::network(site)?, "`plan` has changed the network");
    for part in [
        "asks https://dynk8s.onprem.example/ directly",
        "its name leads to 198.51.100.20, by the VPC's resolver 172.31.0.2",
        "`ens5` has the default route",
        "nobody manages them",
        "writes `/etc/resolv.conf`",
        "reads kubeadm.k8s.io/v1beta4",
        "? its addresses, peers, routes",
    ] {
        ensure!(plan.contains(part), "the plan does not say `{part}`:\n{plan}");
    }
    Ok(plan)
}

/// Whatever lies in the agent's folders after the join was in the plan.
pub(crate) fn names_every_file(plan: &str, site: &Site) -> anyhow::Result<()> {
    let written = find(site, &["-path", "*/dynk8s/*", "-type", "f"])?;
    ensure!(written.len() > GIVEN.len() + 8, "too few files to look at: {written:?}");
    for file in written.iter().filter(|it| !GIVEN.contains(&it.as_str())) {
        ensure!(
            plan.contains(&format!("`{file}`")),
            "the plan did not name `{file}`:\n{plan}"
        );
    }
    Ok(())
}

/// The plan of a node: now the tunnel is known, and it is left alone.
pub(crate) fn is_told_of_a_node(site: &Site, tunnel: &Tunnel) -> anyhow::Result<()> {
    let plan = site.asks("plan")?;
    for part in [
        "joined before: nobody is asked",
        "leaves the keys and peers of the interface `dynk8s` as they are",
        &format!("gives it {}", tunnel.address),
        "at 198.51.100.20:51820",
        "asks 192.168.10.1 for the API server's name",
        "all resolver files name them alone",
    ] {
        ensure!(plan.contains(part), "the plan does not say `{part}`:\n{plan}");
    }
    ensure!(
        !plan.contains(&tunnel.keys.private),
        "the plan shows the tunnel's private key"
    );
    Ok(())
}

fn find(site: &Site, which: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut find = Command::new("find");
    find.args(FOLDERS).args(which);
    let found = site.room.output(find).context("failed to look for files")?;
    Ok(found.lines().map(str::to_owned).collect())
}

/// Links, addresses, routes and rules.
fn network(site: &Site) -> anyhow::Result<String> {
    let mut all = String::new();
    for what in [&["address"][..], &["route", "show", "table", "all"], &["rule"]] {
        let mut ip = Command::new("ip");
        ip.args(what);
        all.push_str(&site.room.output(ip)?);
    }
    Ok(all)
}
