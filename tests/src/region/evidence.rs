//! What a failed run leaves for whoever wants to know why: everything else of it vanishes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Region;
use crate::host::containment::SCRATCH;

const OBJECTS: &str = "workers,nodes,certificatesigningrequests,events";

impl Region {
    /// Puts the outcome of a run that failed together with the folder where its logs are now.
    pub async fn with_evidence<T>(&self, name: &str, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        match outcome {
            Ok(value) => Ok(value),
            Err(error) => Err(match self.keep(name).await {
                Ok(folder) => error.context(format!("failed, with its logs in `{}`", folder.display())),
                Err(another) => error.context(format!("failed, and so did keeping its logs ({another:#})")),
            }),
        }
    }

    async fn keep(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lab").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("failed to clear `{}`", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        for log in logs(Path::new(SCRATCH))? {
            let flat = log.strip_prefix(SCRATCH)?.to_string_lossy().replace('/', "-");
            fs::copy(&log, folder.join(flat)).with_context(|| format!("failed to copy `{}`", log.display()))?;
        }
        // No Secrets among them.
        let words = ["get", OBJECTS, "--all-namespaces", "--output=yaml"];
        let objects = self.control_plane.kubectl(&words).await?;
        fs::write(folder.join("objects.yaml"), objects).context("failed to write the cluster's objects")?;
        Ok(folder.canonicalize()?)
    }
}

/// Every file that is a log by its name or its place; what programs work with is left out.
fn logs(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))? {
        let path = entry?.path();
        let named = |name: &str| path.file_name().is_some_and(|it| it == name);
        if path.is_dir() && !path.is_symlink() && !named("rooms") {
            found.extend(logs(&path)?);
        } else if path.extension().is_some_and(|it| it == "log") || named("log") || folder.ends_with("logs") {
            found.push(path);
        }
    }
    Ok(found)
}
