//! Which crates the image's SBOM names, and which ones Cargo builds the program from.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use dynk8s_lab::host::command::run;
use serde_json::Value;

/// What the SBOM names, each as `name version`: the program itself, and its components.
pub(crate) fn named(layout: &Path) -> anyhow::Result<BTreeSet<String>> {
    let path = layout.with_file_name(format!("{}.cdx.json", layout.file_name().unwrap_or_default().display()));
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let bom: Value = serde_json::from_str(&text)?;
    ensure!(bom["bomFormat"] == "CycloneDX" && bom["specVersion"] == "1.5", "{bom}");
    let components = bom["components"].as_array().context("it has no components")?;
    let crates = components.iter().chain([&bom["metadata"]["component"]]);
    crates
        .map(|it| {
            ensure!(it["licenses"].is_array(), "no licence: {it}");
            let [name, version] = ["name", "version"].map(|field| it[field].as_str().unwrap_or_default());
            Ok(format!("{name} {version}"))
        })
        .collect()
}

/// What Cargo builds the provisioner from, by edges of these kinds.
pub(crate) fn built_from(edges: &str) -> anyhow::Result<BTreeSet<String>> {
    let tree = run(Command::new(env!("CARGO")).args([
        "tree",
        "--locked",
        "--package=dynk8s-provisioner",
        "--prefix=none",
        "--format={p}",
        &format!("--edges={edges}"),
        &format!("--target={}-unknown-linux-gnu", std::env::consts::ARCH),
    ]))?;
    let words = tree.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let crates = words.filter_map(|it| Some(format!("{} {}", it.first()?, it.get(1)?.trim_start_matches('v'))));
    Ok(crates.collect())
}
