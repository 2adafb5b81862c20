//! An OCI image layout, as its specification has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use dynk8s_lab::host::command::run;
use serde_json::Value;

/// A layout with one image.
pub(crate) struct Layout {
    folder: PathBuf,
    pub(crate) digest: String,
    pub(crate) tag: String,
    pub(crate) manifest: Value,
    pub(crate) config: Value,
}

/// What an archive says of a file.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) owner: String,
}

impl Layout {
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let marker = read(&folder.join("oci-layout"))?;
        ensure!(marker["imageLayoutVersion"] == "1.0.0", "it is no layout: {marker}");
        let index = read(&folder.join("index.json"))?;
        let [image] = index["manifests"].as_array().map(Vec::as_slice).unwrap_or_default() else {
            anyhow::bail!("there is not one image in it: {index}");
        };
        let manifest = read(&blob(folder, image)?)?;
        Ok(Self {
            digest: image["digest"].as_str().unwrap_or_default().to_owned(),
            tag: image["annotations"]["org.opencontainers.image.ref.name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            config: read(&blob(folder, &manifest["config"])?)?,
            manifest,
            folder: folder.to_owned(),
        })
    }

    /// Everything in its layers, by path.
    pub(crate) fn entries(&self) -> anyhow::Result<BTreeMap<String, Entry>> {
        let mut entries = BTreeMap::new();
        for layer in self.layers()? {
            let list = run(Command::new("tar")
                .args(["--list", "--verbose", "--numeric-owner", "--file"])
                .arg(layer))?;
            for line in list.lines() {
                let words: Vec<_> = line.split_whitespace().collect();
                let [mode, owner, _size, _day, _time, path] = words[..] else {
                    anyhow::bail!("tar says: {line}");
                };
                let (mode, owner) = (mode.to_owned(), owner.to_owned());
                entries.insert(path.trim_start_matches("./").to_owned(), Entry { mode, owner });
            }
        }
        Ok(entries)
    }

    /// Lays its layers over one another.
    pub(crate) fn unpack(&self, root: &Path) -> anyhow::Result<()> {
        for layer in self.layers()? {
            run(Command::new("tar")
                .arg("--extract")
                .arg("--file")
                .arg(layer)
                .arg("--directory")
                .arg(root))?;
        }
        Ok(())
    }

    fn layers(&self) -> anyhow::Result<Vec<PathBuf>> {
        let layers = self.manifest["layers"].as_array().context("the image has no layers")?;
        layers.iter().map(|it| blob(&self.folder, it)).collect()
    }
}

/// The file that a descriptor is of, which must have the name that its content gives it.
fn blob(folder: &Path, descriptor: &Value) -> anyhow::Result<PathBuf> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    let name = digest
        .strip_prefix("sha256:")
        .with_context(|| format!("no digest: {descriptor}"))?;
    let path = folder.join("blobs/sha256").join(name);
    let sum = run(Command::new("sha256sum").arg(&path))?;
    ensure!(sum.starts_with(name), "`{}` has another content: {sum}", path.display());
    Ok(path)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("failed to understand `{}`", path.display()))
}
