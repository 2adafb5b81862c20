//! The provisioner's manifests, applied as its operator does.

use anyhow::Context as _;

use super::ControlPlane;

/// What an operator applies to his cluster.
pub const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/kubernetes/base");
/// Where it puts the provisioner.
pub const NAMESPACE: &str = "dynk8s-system";

impl ControlPlane {
    /// Applies the manifests, and waits for what the cluster makes of them in its own time: the served Worker resource, and
    /// the cluster's CA in the namespace.
    pub async fn install(&self) -> anyhow::Result<()> {
        self.kubectl(&["apply", "--server-side", "-k", MANIFESTS])
            .await
            .context("failed to apply the manifests")?;
        for (object, condition) in [
            ("crd/workers.dynk8s.du5t1n.me", "--for=condition=Established"),
            ("configmap/kube-root-ca.crt", "--for=create"),
        ] {
            self.kubectl(&["wait", object, condition, "--namespace", NAMESPACE, "--timeout=25s"])
                .await?;
        }
        Ok(())
    }
}
