//! Kubeconfig files: kubeadm's, and those made from tokens.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{API_ADDRESS, API_NAME, API_PORT};

/// Copies the administrator's file with the address in the place of the name, which only the on-premises DNS knows.
pub(super) fn admin_by_address(root: &Path, copy: &Path) -> anyhow::Result<PathBuf> {
    let path = root.join("etc/kubernetes/admin.conf");
    let original = std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let (name, address) = (
        format!("https://{API_NAME}:{API_PORT}"),
        format!("https://{API_ADDRESS}:{API_PORT}"),
    );
    ensure!(
        original.contains(&name),
        "`{}` does not name the server `{name}`",
        path.display()
    );
    write_secret(copy, &original.replace(&name, &address))
        .with_context(|| format!("failed to write `{}`", copy.display()))?;
    Ok(copy.to_owned())
}

pub(super) fn authority(root: &Path) -> anyhow::Result<String> {
    let path = root.join("etc/kubernetes/pki/ca.crt");
    std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// A kubeconfig as JSON, which is YAML.
pub(super) fn with_token(server: &str, authority: &str, token: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "lab",
            "cluster": {"server": server, "certificate-authority-data": BASE64_STANDARD.encode(authority)},
        }],
        "users": [{"name": "bearer", "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "bearer"}}],
        "current-context": "lab",
    })
    .to_string()
}

fn write_secret(path: &Path, content: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?
        .write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_copy_names_the_address_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("etc/kubernetes");
        std::fs::create_dir_all(&original).unwrap();
        std::fs::write(original.join("admin.conf"), "server: https://api.onprem.example:6443\n").unwrap();
        let copy = admin_by_address(folder.path(), &folder.path().join("admin.conf")).unwrap();
        assert_eq!(
            std::fs::read_to_string(&copy).unwrap(),
            "server: https://192.168.10.10:6443\n"
        );
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_names_another_server_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("etc/kubernetes")).unwrap();
        std::fs::write(
            folder.path().join("etc/kubernetes/admin.conf"),
            "server: https://other:6443\n",
        )
        .unwrap();
        assert!(admin_by_address(folder.path(), &folder.path().join("copy")).is_err());
    }

    #[test]
    fn a_token_becomes_a_kubeconfig() {
        let config: serde_json::Value = serde_json::from_str(&with_token("https://a:1", "PEM", "t")).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"]["token"], "t");
    }
}
