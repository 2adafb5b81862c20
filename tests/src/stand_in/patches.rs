//! The patches of the kubelet's configuration, as far as they are whole files of JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

const NAMES: [&str; 2] = ["kubeletconfiguration.json", "kubeletconfiguration+merge.json"];

/// What the patches of a folder say together.
pub(super) fn read(folder: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut fields = Map::new();
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))? {
        let path = entry?.path();
        if !path.file_name().is_some_and(|name| NAMES.iter().any(|it| name == *it)) {
            bail!("`{}` patches nothing that a worker has", path.display());
        }
        let text = fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        let changes: Map<String, Value> =
            serde_json::from_slice(&text).with_context(|| format!("failed to understand `{}`", path.display()))?;
        fields.extend(changes);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_renders_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let patch = include_str!("../../../agent/testdata/join/patch.json");
        fs::write(folder.path().join(NAMES[1]), patch).unwrap();
        assert!(read(folder.path()).unwrap()["resolvConf"].is_string());
    }

    #[test]
    fn another_component_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kube-apiserver.json"), "{}").unwrap();
        assert!(read(folder.path()).is_err());
    }
}
