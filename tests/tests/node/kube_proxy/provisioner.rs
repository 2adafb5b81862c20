//! The provisioner as it is deployed: its image, in the pods that the manifests make, which reach the API server by its Service. When
//! the `reconcile` of the premises goes, that of the cluster takes over.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::cluster::{MANIFESTS, NAMESPACE};
use dynk8s_lab::host::command::run;
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::machine::File;
use dynk8s_lab::region::until;
use serde_json::Value;

use super::symptoms::exec;
use crate::stage::{Node, Stage};

const ARCHIVE: &str = "/var/lib/dynk8s-provisioner.tar";
/// The name that the manifests have for it, as the runtime completes it.
const IMAGE: &str = "docker.io/library/dynk8s-provisioner";
const SOON: Duration = Duration::from_secs(20);
const READY_WITHIN: Duration = Duration::from_secs(90);
/// A Lease that nobody renews holds for 15 s.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(40);

/// The image for a machine that reaches no registry.
pub(super) fn archive(layout: &Path) -> anyhow::Result<File> {
    let archive = Path::new(SCRATCH).join("provisioner.tar");
    run(Command::new("tar")
        .arg("--create")
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(layout)
        .arg("."))?;
    Ok(File::new(ARCHIVE, 0o644, std::fs::read(archive)?))
}

pub(super) async fn runs_as_pods(stage: &mut Stage, node: &Node) -> anyhow::Result<()> {
    let base_name = format!("--base-name={IMAGE}");
    let import = ["ctr", "--namespace=k8s.io", "images", "import", &base_name, ARCHIVE];
    node.machine.run(&import).await?;
    let configuration = format!("--from-file={MANIFESTS}/../example/provisioner.toml");
    let words = [
        "create",
        "configmap",
        "dynk8s-provisioner",
        "--namespace",
        NAMESPACE,
        &configuration,
    ];
    stage.region.control_plane.kubectl(&words).await?;
    for half in ["serve", "reconcile"] {
        let pod = pending(stage, half).await?;
        stage
            .region
            .control_plane
            .place(&pod, &node.newcomer.instance.id)
            .await?;
    }
    is_ready(stage, "serve").await?;
    serve_answers_at_its_service(stage).await?;
    let pod = is_ready(stage, "reconcile").await?;
    let outcome = it_takes_over(stage, &pod).await;
    remove(stage).await?;
    outcome
}

async fn serve_answers_at_its_service(stage: &Stage) -> anyhow::Result<()> {
    let words = ["service", "dynk8s-provisioner", "--namespace", NAMESPACE];
    let service = stage.region.get(&words).await?.context("there is no Service")?;
    let url = format!(
        "http://{}/wireguard/config/i-0123456789abcdef0",
        service["spec"]["clusterIP"].as_str().unwrap_or_default()
    );
    // kube-proxy learns of the endpoint in its own time.
    let gone = until("the Service answers 410", SOON, async || {
        let answer = exec(stage, "default", "client", &["wget", "-q", "-O-", "-T", "5", &url]).await;
        let said = answer.err().map(|it| format!("{it:#}")).unwrap_or_default();
        Ok(said.contains("410 Gone").then_some(()))
    });
    gone.await
}

async fn it_takes_over(stage: &mut Stage, pod: &str) -> anyhow::Result<()> {
    stage.region.provisioner.stop_reconcile();
    let lease = ["lease", "dynk8s-provisioner-reconcile", "--namespace", NAMESPACE];
    until("the pod holds the Lease", TAKEN_OVER_WITHIN, async || {
        let lease = stage.region.get(&lease).await?.unwrap_or_default();
        Ok((lease["spec"]["holderIdentity"] == pod).then_some(()))
    })
    .await
}

/// Back to what all cases start from.
async fn remove(stage: &mut Stage) -> anyhow::Result<()> {
    for words in [
        [
            "delete",
            "deployment",
            "--selector=app.kubernetes.io/name=dynk8s-provisioner",
        ],
        ["delete", "configmap", "dynk8s-provisioner"],
    ] {
        let words = [&words[..], &["--namespace", NAMESPACE]].concat();
        stage.region.control_plane.kubectl(&words).await?;
    }
    until("the pods are gone", SOON * 2, async || {
        let pods = stage
            .region
            .get(&["pods", "--namespace", NAMESPACE])
            .await?
            .unwrap_or_default();
        Ok(pods["items"].as_array().is_none_or(Vec::is_empty).then_some(()))
    })
    .await?;
    stage.region.provisioner.start_reconcile().await
}

/// The pod that a Deployment has made, which nobody has placed.
async fn pending(stage: &Stage, half: &str) -> anyhow::Result<Value> {
    until(&format!("`{half}` has a pod"), SOON, async || pod(stage, half).await).await
}

/// The name of a pod whose probes succeed.
async fn is_ready(stage: &Stage, half: &str) -> anyhow::Result<String> {
    let what = format!("the pod of `{half}` is ready");
    let ready = until(&what, READY_WITHIN, async || {
        let is_ready = |it: &Value| it["status"]["containerStatuses"][0]["ready"] == true;
        Ok(pod(stage, half).await?.filter(is_ready))
    });
    match ready.await {
        Ok(pod) => {
            ensure!(
                pod["status"]["containerStatuses"][0]["restartCount"] == 0,
                "it was started twice"
            );
            Ok(pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        }
        Err(error) => {
            let status = pod(stage, half).await?.unwrap_or_default()["status"].clone();
            Err(error.context(format!("its status is {status}")))
        }
    }
}

async fn pod(stage: &Stage, half: &str) -> anyhow::Result<Option<Value>> {
    let selector = format!("--selector=app.kubernetes.io/component={half}");
    let list = stage.region.get(&["pods", "--namespace", NAMESPACE, &selector]).await?;
    Ok(list.and_then(|it| it["items"].get(0).cloned()))
}
