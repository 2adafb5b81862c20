//! What the lab does to the cluster as its administrator, by kubectl.

use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use super::{ControlPlane, kubeconfig};
use crate::host::process::run;

const DEADLINE: Duration = Duration::from_secs(30);
/// Longer than any test.
const TOKEN_LIFETIME: &str = "--duration=24h";

impl ControlPlane {
    /// Runs kubectl and returns what it prints: as the administrator, unless `--kubeconfig` names another.
    pub async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.kubectl_with(arguments, b"").await
    }

    /// Applies a manifest: one or more YAML or JSON documents.
    pub async fn apply(&self, manifest: &str) -> anyhow::Result<()> {
        self.kubectl_with(&["apply", "--server-side", "-f", "-"], manifest.as_bytes())
            .await?;
        Ok(())
    }

    /// A kubeconfig with a token of a `ServiceAccount`, which may do what that one may, at the server's address.
    pub async fn service_account_kubeconfig(
        &self,
        namespace: &str,
        name: &str,
        server: &str,
    ) -> anyhow::Result<String> {
        let token = self
            .kubectl(&["create", "token", name, "-n", namespace, TOKEN_LIFETIME])
            .await
            .with_context(|| format!("failed to get a token of ServiceAccount `{namespace}/{name}`"))?;
        self.token_kubeconfig(server, token.trim())
    }

    /// A kubeconfig with a bearer token, such as a bootstrap token.
    pub fn token_kubeconfig(&self, server: &str, token: &str) -> anyhow::Result<String> {
        Ok(kubeconfig::with_token(server, &self.authority()?, token))
    }

    pub(super) async fn kubectl_with(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.programs.kubectl);
        command.args(arguments).env("KUBECONFIG", &self.admin);
        // What kubectl learns of the API is kept with the cluster that it learnt it from.
        command.env("KUBECACHEDIR", self.root.join("kubectl"));
        run(command, input, DEADLINE, &self.spawn).await
    }
}
