//! What an operator starts from: the example, with all that it offers, is what a cluster takes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use dynk8s_lab::host::command::run;
use dynk8s_lab::host::containment::SCRATCH;

use crate::stage::Stage;

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/kubernetes");
const OFFER: &str = "# components:\n#   - ../monitoring\n";
const TAKEN: &str = "components:\n  - ../monitoring\n";

pub(crate) fn the_example_is_complete(stage: &Stage) -> anyhow::Result<()> {
    let example = format!("{MANIFESTS}/example");
    let rendered = stage.kubectl(&["kustomize", &example])?;
    for line in [
        "kind: CustomResourceDefinition",
        "image: registry.example.com/dynk8s-provisioner:0.1.0",
        "[cluster]",
    ] {
        ensure!(rendered.contains(line), "no `{line}`");
    }
    let name = rendered
        .split("name: dynk8s-provisioner-")
        .filter(|it| !it.starts_with(['s', 'r']));
    ensure!(name.count() >= 3, "the Deployments mount the generated ConfigMap");
    Ok(())
}

/// First asked, then done, and asked once more: a field that the API server does not know is refused, and so is a pod that the
/// namespace's security does not allow.
pub(crate) fn the_example_is_accepted(stage: &Stage) -> anyhow::Result<()> {
    let definitions = stage.definitions.display().to_string();
    stage.kubectl(&["apply", "--server-side", "-f", &definitions])?;
    for kind in ["prometheusrules", "servicemonitors"] {
        let definition = format!("crd/{kind}.monitoring.coreos.com");
        stage.kubectl(&["wait", &definition, "--for=condition=Established", "--timeout=25s"])?;
    }
    let example = with_monitoring()?;
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--validate=strict",
        "-k",
        &example,
    ];
    stage.kubectl(&[&apply[..], &["--dry-run=server"]].concat())?;
    let applied = stage.kubectl(&apply)?;
    for object in [
        "deployment.apps/dynk8s-provisioner-reconcile",
        "deployment.apps/dynk8s-provisioner-serve",
        "ingress.networking.k8s.io/dynk8s-provisioner",
        "networkpolicy.networking.k8s.io/dynk8s-provisioner-metrics",
        "prometheusrule.monitoring.coreos.com/dynk8s-provisioner",
        "servicemonitor.monitoring.coreos.com/dynk8s-provisioner",
    ] {
        ensure!(
            applied.contains(&format!("{object} serverside-applied")),
            "no {object} in:\n{applied}"
        );
    }
    the_pods_are_let_in(stage)
}

/// Restricted Pod Security refuses pods, not Deployments: whether it lets ours in shows when there are some.
fn the_pods_are_let_in(stage: &Stage) -> anyhow::Result<()> {
    for half in ["serve", "reconcile"] {
        let deployment = format!("deployment/dynk8s-provisioner-{half}");
        let created = [
            "wait",
            &deployment,
            "--namespace=dynk8s-system",
            "--for=jsonpath={.status.replicas}=1",
            "--timeout=20s",
        ];
        stage
            .kubectl(&created)
            .with_context(|| format!("`{half}` has no pod"))?;
    }
    Ok(())
}

/// A copy of the example, in which what it offers for Prometheus is taken, as an operator takes it.
fn with_monitoring() -> anyhow::Result<String> {
    let copy = Path::new(SCRATCH).join("manifests");
    run(Command::new("cp").arg("-r").arg(MANIFESTS).arg(&copy))?;
    let path = copy.join("example/kustomization.yaml");
    let text = std::fs::read_to_string(&path)?;
    ensure!(text.contains(OFFER), "the example does not offer monitoring:\n{text}");
    std::fs::write(&path, text.replace(OFFER, TAKEN))?;
    Ok(copy.join("example").display().to_string())
}
