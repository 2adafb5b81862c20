//! The kubeconfig by which a join finds the cluster.

use std::path::Path;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

/// The cluster that a discovery file names.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) server: String,
    /// PEM.
    pub(super) authority: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: String,
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
}

#[derive(Debug, Deserialize)]
struct NamedCluster {
    name: String,
    cluster: ClusterEntry,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClusterEntry {
    server: String,
    certificate_authority_data: String,
}

#[derive(Debug, Deserialize)]
struct NamedContext {
    name: String,
    context: ContextEntry,
}

#[derive(Debug, Deserialize)]
struct ContextEntry {
    cluster: String,
    #[serde(default)]
    user: String,
}

impl Cluster {
    /// The discovery file is JSON, as everything that a program writes for kubeadm may be.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
        Self::parse(&text).with_context(|| format!("failed to understand `{}`", path.display()))
    }

    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let config: Kubeconfig = serde_json::from_slice(text)?;
        let context = config.contexts.into_iter().find(|it| it.name == config.current_context);
        let context = context.context("the current context is not there")?.context;
        ensure!(!context.user.is_empty(), "user was not specified for context");
        let cluster = config.clusters.into_iter().find(|it| it.name == context.cluster);
        let cluster = cluster.context("the context's cluster is not there")?.cluster;
        let authority = BASE64_STANDARD.decode(cluster.certificate_authority_data);
        Ok(Self {
            server: cluster.server,
            authority: String::from_utf8(authority.context("failed to decode the authority")?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_the_agent_renders_is_understood() {
        Cluster::parse(include_bytes!("../../../agent/testdata/join/discovery.json")).unwrap();
    }

    #[test]
    fn a_context_needs_a_user() {
        let config = |context: Value| {
            let cluster = json!({"server": "https://a:1", "certificate-authority-data": "UEVN"});
            let config = json!({
                "current-context": "c",
                "clusters": [{"name": "k", "cluster": cluster}],
                "contexts": [{"name": "c", "context": context}],
            });
            Cluster::parse(config.to_string().as_bytes())
        };
        assert_eq!(config(json!({"cluster": "k", "user": "u"})).unwrap().authority, "PEM");
        assert!(config(json!({"cluster": "k"})).is_err());
    }
}
