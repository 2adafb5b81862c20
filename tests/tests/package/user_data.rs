//! The user data: what cloud-init reads, filled in as Terraform and envsubst do.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use dynk8s_lab::host::command::run;
use serde::Deserialize;
use test_case::test_case;

use crate::root::Root;
use crate::rpm::package;
use crate::{debian, workspace};

const BAKED: &str = "cloud-init/baked.yaml";
const STOCK: &str = "cloud-init/stock-fedora.yaml";
/// What EC2 takes.
const LONGEST: usize = 16_384;

/// All that is filled in. None of it is a secret: whoever is on the instance can read its user data.
const VARIABLES: [(&str, &str); 4] = [
    ("kubernetes_release", "1.37"),
    (
        "package",
        "https://packages.onprem.example/dynk8s-agent-0.1.0-1.x86_64.rpm",
    ),
    ("provisioner", "https://dynk8s.onprem.example"),
    ("provisioner_key", "U1rkYUKSwoEpYLnaEBEfBkHrjtGXXOcHh8Pnno9tMi4="),
];

#[derive(Deserialize)]
struct UserData {
    write_files: Vec<File>,
    runcmd: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    content: String,
}

fn fill_in(template: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(workspace().join(template))?;
    Ok(VARIABLES
        .iter()
        .fold(text, |text, (name, value)| text.replace(&format!("${{{name}}}"), value)))
}

#[test_case(BAKED)]
#[test_case(STOCK)]
fn cloud_init_accepts_it(template: &str) -> anyhow::Result<()> {
    let filled = tempfile::NamedTempFile::new()?;
    fs::write(&filled, fill_in(template)?)?;
    let shown: [(&Path, &str); 1] = [(filled.path(), "/mnt/user-data")];
    let words = ["cloud-init", "schema", "--config-file", "/mnt/user-data"];
    let said = run(&mut debian()?.command(&shown, &words))?;
    assert!(said.contains("Valid schema"), "{said}");
    Ok(())
}

/// A dollar or `%{` that is left would be Terraform's or envsubst's to interpret.
#[test_case(BAKED)]
#[test_case(STOCK)]
fn it_is_short_and_means_the_same_to_terraform_and_envsubst(template: &str) -> anyhow::Result<()> {
    let filled = fill_in(template)?;
    assert!(filled.len() < LONGEST, "{} bytes", filled.len());
    for sign in ["$", "%{"] {
        assert!(!filled.contains(sign), "`{sign}` in\n{filled}");
    }
    Ok(())
}

#[test_case(BAKED)]
#[test_case(STOCK)]
fn the_agent_likes_its_configuration_and_is_waited_for(template: &str) -> anyhow::Result<()> {
    let user_data: UserData = serde_saphyr::from_str(&fill_in(template)?)?;
    let last = user_data.runcmd.last().context("no command")?;
    assert_eq!(last.as_slice(), ["dynk8s-agent", "bootstrap"]);

    let mut files = user_data.write_files.iter();
    let written = files
        .find(|it| it.path == "/etc/dynk8s/agent.toml")
        .context("no configuration")?;
    let configuration = tempfile::NamedTempFile::new()?;
    fs::write(&configuration, &written.content)?;
    let root = Root::make(&debian()?)?;
    root.rpm(&["--install"], Some(package()?))?;
    let mut check = Command::new(root.path("usr/bin/dynk8s-agent"));
    run(check.args(["config", "check", "--config"]).arg(configuration.path()))?;
    Ok(())
}
