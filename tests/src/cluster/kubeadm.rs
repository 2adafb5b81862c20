//! The phases of `kubeadm init` that make credentials, and those that put into the cluster what a join reads.
//!
//! They are called one by one: `upload-config all` waits for a Node of its own host, which never comes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::components::{ETCD, PODS, SERVICES};
use super::{API_ADDRESS, API_NAME, API_PORT};
use crate::host::process::{Spawn, run};
use crate::programs::Programs;

/// Below the root, where a path inside is the same for kubeadm.
const CONFIGURATION: &str = "etc/kubernetes/kubeadm.conf";
/// Where the images that the machine has say that they come from.
const IMAGES: &str = "dynk8s.test";
const DEADLINE: Duration = Duration::from_secs(90);

/// kubeadm with a root of its own, so that it writes nowhere else and all paths in the cluster are those of a real one.
pub(super) struct Kubeadm {
    program: PathBuf,
    root: PathBuf,
    spawn: Spawn,
}

impl Kubeadm {
    pub(super) fn new(programs: &Programs, root: &Path, spawn: &Spawn) -> anyhow::Result<Self> {
        let path = root.join(CONFIGURATION);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        std::fs::write(&path, configuration(&programs.version))
            .with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(Self {
            program: programs.kubeadm.clone(),
            root: root.to_owned(),
            spawn: spawn.clone(),
        })
    }

    /// Keys, certificates and kubeconfigs, before anything runs.
    pub(super) async fn make_credentials(&self) -> anyhow::Result<()> {
        self.phase(&["certs", "all"]).await?;
        for file in ["admin", "super-admin", "controller-manager"] {
            self.phase(&["kubeconfig", file]).await?;
        }
        Ok(())
    }

    /// Configuration, roles and add-ons, on the live API server.
    pub(super) async fn furnish(&self) -> anyhow::Result<()> {
        // The first of them gives the administrator his rights; the others would race for it.
        self.phase(&["upload-config", "kubeadm"]).await?;
        tokio::try_join!(
            self.phase(&["upload-config", "kubelet"]),
            self.phase(&["bootstrap-token", "--skip-token-print"]),
            self.add_kube_proxy(),
        )?;
        Ok(())
    }

    /// The configuration that a join reads, and the pods.
    pub(super) async fn add_kube_proxy(&self) -> anyhow::Result<()> {
        self.phase(&["addon", "kube-proxy"]).await
    }

    async fn phase(&self, words: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command
            .args(["init", "phase"])
            .args(words)
            .arg(format!("--config=/{CONFIGURATION}"));
        command.arg("--rootfs").arg(&self.root);
        run(command, b"", DEADLINE, &self.spawn).await?;
        Ok(())
    }
}

/// JSON documents are YAML documents.
fn configuration(version: &str) -> String {
    documents(version).map(|document| document.to_string()).join("\n---\n")
}

fn documents(version: &str) -> [Value; 4] {
    [
        json!({
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": API_ADDRESS, "bindPort": API_PORT},
            "nodeRegistration": {"name": "control-plane", "criSocket": "unix:///run/containerd/containerd.sock"},
        }),
        json!({
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": version,
            "imageRepository": IMAGES,
            "controlPlaneEndpoint": format!("{API_NAME}:{API_PORT}"),
            "networking": {"podSubnet": PODS, "serviceSubnet": SERVICES},
            "apiServer": {"certSANs": [API_NAME, API_ADDRESS, "127.0.0.1"]},
            "etcd": {"external": {"endpoints": [ETCD]}},
        }),
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd",
        }),
        json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            // What the image of its container has the programs for.
            "mode": "nftables",
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_names_its_kind() {
        for text in configuration("v1.37.2").split("\n---\n") {
            let document: Value = serde_json::from_str(text).unwrap();
            assert!(
                document["apiVersion"].is_string() && document["kind"].is_string(),
                "{document}"
            );
        }
    }

    #[test]
    fn the_nodes_are_told_the_name() {
        let [_, cluster, ..] = documents("v1.37.2");
        assert_eq!(cluster["controlPlaneEndpoint"], "api.onprem.example:6443");
        assert_eq!(cluster["kubernetesVersion"], "v1.37.2");
    }
}
