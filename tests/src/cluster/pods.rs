//! Pods, where a test wants some: the cluster has none by itself, and no scheduler to place them.

use serde_json::{Value, json};

use super::ControlPlane;
use super::kubeadm::Kubeadm;

const PROXY: &[&str] = &["--namespace=kube-system", "daemonset/kube-proxy"];

impl ControlPlane {
    /// The pods of kubeadm's kube-proxy add-on, which are made for every Node and wait to be placed.
    pub async fn add_kube_proxy(&self) -> anyhow::Result<()> {
        Kubeadm::new(&self.programs, &self.root, &self.spawn)?
            .add_kube_proxy()
            .await
    }

    /// Leaves of the add-on only what a join reads: on most machines there is no image for its pods.
    pub async fn remove_kube_proxy(&self) -> anyhow::Result<()> {
        self.kubectl(&[&["delete"], PROXY].concat()).await?;
        Ok(())
    }

    /// Places a pod on a node, as the scheduler would.
    pub async fn place(&self, pod: &Value, node: &str) -> anyhow::Result<()> {
        let [namespace, name] = ["namespace", "name"].map(|field| pod["metadata"][field].as_str().unwrap_or_default());
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        self.kubectl_with(&["create", "--raw", &path, "-f", "-"], binding.to_string().as_bytes())
            .await?;
        Ok(())
    }
}
