//! The Go modules that name what is built, and of which release; part of this program, so that it can run from anywhere.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use ring::digest::{Context as Digest, SHA256};

/// A wrapper module: its `tool` lines are the programs, its `require` lines and sums all that goes into them.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: &'static str,
    /// The module that the programs are part of.
    pub(super) path: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

pub(super) const KUBERNETES: Module = Module {
    name: "Kubernetes",
    path: "k8s.io/kubernetes",
    go_mod: include_str!("../../kubernetes/go.mod"),
    go_sum: include_str!("../../kubernetes/go.sum"),
};

pub(super) const ETCD: Module = Module {
    name: "etcd",
    path: "go.etcd.io/etcd/server/v3",
    go_mod: include_str!("../../etcd/go.mod"),
    go_sum: include_str!("../../etcd/go.sum"),
};

impl Module {
    /// The release that is required, such as `v1.37.2`.
    pub(super) fn version(&self) -> anyhow::Result<&'static str> {
        self.go_mod
            .lines()
            .find_map(|line| {
                let mut words = line.trim_start_matches("require").split_whitespace();
                (words.next() == Some(self.path)).then(|| words.next()).flatten()
            })
            .with_context(|| format!("failed to find the version of `{}` in its go.mod", self.path))
    }

    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("go.mod"), self.go_mod)?;
        std::fs::write(folder.join("go.sum"), self.go_sum)
    }
}

/// The name under which the programs of these modules are kept: another sum, another name.
pub(super) fn cache_key() -> anyhow::Result<String> {
    let mut digest = Digest::new(&SHA256);
    for module in [KUBERNETES, ETCD] {
        digest.update(module.go_mod.as_bytes());
        digest.update(module.go_sum.as_bytes());
    }
    let mut key = format!("{}-", KUBERNETES.version()?);
    for byte in &digest.finish().as_ref()[..6] {
        write!(key, "{byte:02x}")?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_found() {
        assert!(KUBERNETES.version().unwrap().starts_with("v1."));
        assert!(ETCD.version().unwrap().starts_with("v3."));
    }

    #[test]
    fn staging_modules_are_of_the_same_release() {
        let staging = KUBERNETES.version().unwrap().replacen("v1.", "v0.", 1);
        let replaced = KUBERNETES.go_mod.lines().filter_map(|line| line.split_once("=>"));
        for (module, by) in replaced {
            assert_eq!(by.split_whitespace().nth(1), Some(staging.as_str()), "{module}");
        }
    }

    #[test]
    fn the_key_names_the_release() {
        let key = cache_key().unwrap();
        let (version, hash) = key.rsplit_once('-').unwrap();
        assert_eq!((version, hash.len()), (KUBERNETES.version().unwrap(), 12));
    }
}
