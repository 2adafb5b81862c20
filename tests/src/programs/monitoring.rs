//! What judges the manifests for Prometheus: the definitions of its operator, and promtool, both from their published Go modules.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::build::{check_go, compile, go, go_build};
use crate::host::cache;
use crate::host::progress::say;

const OPERATOR: &str = "github.com/prometheus-operator/prometheus-operator";
const OPERATOR_VERSION: &str = "v0.85.0";
const PROMETHEUS: &str = "github.com/prometheus/prometheus";
const PROMETHEUS_VERSION: &str = "v0.316.0";

/// The resources that our manifests have objects of.
const DEFINITIONS: [&str; 2] = [
    "monitoring.coreos.com_prometheusrules.yaml",
    "monitoring.coreos.com_servicemonitors.yaml",
];

/// A folder with the operator's definitions of its resources.
pub async fn definitions() -> anyhow::Result<PathBuf> {
    cache::folder("prometheus-operator", OPERATOR_VERSION, async |workshop| {
        let source = download(workshop, OPERATOR, OPERATOR_VERSION).await?;
        let result = workshop.join("definitions");
        std::fs::create_dir_all(&result).with_context(|| format!("failed to create `{}`", result.display()))?;
        for name in DEFINITIONS {
            let path = source.join("example/prometheus-operator-crd").join(name);
            std::fs::copy(&path, result.join(name)).with_context(|| format!("failed to copy `{}`", path.display()))?;
        }
        Ok(result)
    })
    .await
}

/// The program that checks and tests rules.
pub async fn promtool() -> anyhow::Result<PathBuf> {
    let folder = cache::folder("promtool", PROMETHEUS_VERSION, async |workshop| {
        let source = download(workshop, PROMETHEUS, PROMETHEUS_VERSION).await?;
        let result = workshop.join("program");
        say("building promtool from its Go module, once: a few minutes");
        let mut command = go_build(&source);
        // Without the clients of all the clouds, which rules have no use for.
        command
            .args(["-tags=remove_all_sd", "-ldflags=-s -w", "-o"])
            .arg(result.join("promtool"))
            .arg("./cmd/promtool");
        compile("promtool", command, &workshop.join("log")).await?;
        Ok(result)
    });
    Ok(folder.await?.join("promtool"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    dir: PathBuf,
}

/// Where Go has the source of a module.
async fn download(workshop: &Path, module: &str, version: &str) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(workshop).with_context(|| format!("failed to create `{}`", workshop.display()))?;
    check_go(workshop).await?;
    let module = format!("{module}@{version}");
    let output = go(workshop)
        .args(["mod", "download", "-json", &module])
        .output()
        .await?;
    if !output.status.success() {
        bail!(
            "failed to download `{module}`: {}{}",
            String::from_utf8_lossy(&output.stdout).trim(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let said: Downloaded = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("failed to find `{module}` in what `go mod download` says"))?;
    Ok(said.dir)
}
