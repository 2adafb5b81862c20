//! What a lab could leave behind on its host: taken before and after, two snapshots must be equal.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::command;

/// The host's state as far as a lab could have touched it.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub interfaces: BTreeSet<String>,
    pub addresses: String,
    pub routes: String,
    pub rules: String,
    pub firewall: String,
    pub namespaces: BTreeSet<String>,
    pub mounts: BTreeSet<String>,
    pub resolv_conf: Option<String>,
    pub forwarding: String,
}

impl Snapshot {
    pub fn take() -> anyhow::Result<Self> {
        Ok(Self {
            interfaces: names_in("/sys/class/net")?,
            addresses: ip(&["-brief", "address"])?,
            routes: ip(&["route", "show", "table", "all"])?,
            rules: ip(&["rule"])?,
            firewall: command::run(Command::new("nft").args(["list", "ruleset"]))?,
            namespaces: names_in("/run/netns")?,
            mounts: mounts()?,
            resolv_conf: fs::read_to_string("/etc/resolv.conf").ok(),
            forwarding: read("/proc/sys/net/ipv4/ip_forward")?,
        })
    }
}

/// The process namespace of a running lab, to see whether anything of it is left.
#[derive(Debug, PartialEq, Eq)]
pub struct ProcessNamespace(PathBuf);

impl ProcessNamespace {
    /// That of the lab started as process `outer`, once there is one.
    pub fn of_lab(outer: u32) -> io::Result<Option<Self>> {
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"))?;
        let Some(inner) = children.split_whitespace().next() else {
            return Ok(None);
        };
        fs::read_link(format!("/proc/{inner}/ns/pid")).map(|name| Some(Self(name)))
    }

    /// The names of the processes that still live in it.
    pub fn processes(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let process = entry?.path();
            // Processes end while we look.
            if fs::read_link(process.join("ns/pid")).is_ok_and(|name| name == self.0) {
                found.push(
                    fs::read_to_string(process.join("comm"))
                        .unwrap_or_default()
                        .trim()
                        .to_owned(),
                );
            }
        }
        Ok(found)
    }
}

fn ip(arguments: &[&str]) -> anyhow::Result<String> {
    let text = command::run(Command::new("ip").args(arguments))?;
    // Lifetimes of addresses and routes count down by themselves.
    Ok(text
        .lines()
        .map(|line| line.split(" expires ").next().unwrap_or(line).trim_end())
        .collect::<Vec<_>>()
        .join("\n"))
}

fn names_in(folder: &str) -> anyhow::Result<BTreeSet<String>> {
    if !Path::new(folder).exists() {
        return Ok(BTreeSet::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{folder}`"))?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

fn mounts() -> anyhow::Result<BTreeSet<String>> {
    let table = read("/proc/self/mountinfo")?;
    // Without the two leading numbers, which say nothing of what is mounted where.
    Ok(table
        .lines()
        .map(|line| line.splitn(3, ' ').last().unwrap_or(line).to_owned())
        .collect())
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read `{path}`"))
}
