//! What the incident looks like from the node's pods, and from a cluster that asks for their logs.

use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::cluster::{API_NAME, API_PORT};
use dynk8s_lab::region::until;
use dynk8s_lab::story::checks;
use dynk8s_lab::topology::addresses::PREMISES_GATEWAY;

use super::proxy;
use crate::stage::{Node, Stage};

/// That of `default/kubernetes`, the first of the range.
const CLUSTER_IP: &str = "10.96.0.1";
/// From a start until it has read all Services, or has failed to.
const FIRST_RULES: Duration = Duration::from_secs(20);

/// All that is wrong with names and Services on a node; empty where there is no incident.
pub(super) async fn symptoms(stage: &Stage, node: &Node) -> anyhow::Result<Vec<String>> {
    let proxy = proxy::runs(stage, node).await?;
    let looks = [
        proxy_has_the_resolver_of_the_premises(stage, &proxy).await,
        // Before the log is read, since it waits for what kube-proxy does first.
        client_reaches_a_service(stage).await,
        proxy_reaches_the_api_server(stage, &proxy).await,
    ];
    Ok(looks
        .into_iter()
        .filter_map(|it| Some(format!("{:#}", it.err()?)))
        .collect())
}

async fn proxy_has_the_resolver_of_the_premises(stage: &Stage, proxy: &str) -> anyhow::Result<()> {
    let text = exec(stage, "kube-system", proxy, &["cat", "/etc/resolv.conf"]).await?;
    let servers = checks::nameservers(&text);
    ensure!(
        servers == [PREMISES_GATEWAY.to_string()],
        "kube-proxy's resolvers are {servers:?}"
    );
    Ok(())
}

/// By the name that its kubeconfig has; what it says itself is what an operator looks at.
async fn proxy_reaches_the_api_server(stage: &Stage, proxy: &str) -> anyhow::Result<()> {
    let words = ["logs", "--namespace=kube-system", proxy];
    let log = stage.region.control_plane.kubectl(&words).await?;
    let complaint = log.lines().find(|line| line.contains("no such host"));
    ensure!(
        complaint.is_none(),
        "kube-proxy says: {}",
        complaint.unwrap_or_default()
    );
    let url = format!("https://{API_NAME}:{API_PORT}/version");
    answers(stage, "kube-system", proxy, &url).await
}

async fn client_reaches_a_service(stage: &Stage) -> anyhow::Result<()> {
    let url = format!("https://{CLUSTER_IP}/version");
    let reached = until("a pod reaches a Service", FIRST_RULES, async || {
        Ok(answers(stage, "default", "client", &url).await.ok())
    });
    match reached.await {
        Ok(()) => Ok(()),
        Err(_) => answers(stage, "default", "client", &url)
            .await
            .with_context(|| format!("no answer from {CLUSTER_IP}")),
    }
}

/// Whether an API server of this cluster's release answers to a pod.
async fn answers(stage: &Stage, namespace: &str, pod: &str, url: &str) -> anyhow::Result<()> {
    // It cannot check certificates; that is other tests' matter.
    let wget = ["wget", "-q", "-O-", "-T", "5", "--no-check-certificate", url];
    let text = exec(stage, namespace, pod, &wget).await?;
    let version = stage.region.control_plane.version();
    ensure!(text.contains(version), "`{url}` answers: {text}");
    Ok(())
}

pub(super) async fn exec(stage: &Stage, namespace: &str, pod: &str, command: &[&str]) -> anyhow::Result<String> {
    let words = [&["exec", "--namespace", namespace, pod, "--"], command].concat();
    stage.region.control_plane.kubectl(&words).await
}
