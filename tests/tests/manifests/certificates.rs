//! The group of our tokens, and the approval of what it asks for.

use anyhow::ensure;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::json;

use crate::stage::{INSTANCE, Stage, Who, file};

pub(crate) const KUBELETS: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const OURS: &str = "system:bootstrappers:dynk8s:node";

fn bearer() -> String {
    format!(
        "--as=system:bootstrap:abcdef --as-group={OURS} --as-group=system:bootstrappers --as-group=system:authenticated"
    )
}

pub(crate) fn a_token_may_ask(stage: &Stage) -> anyhow::Result<()> {
    let bearer = bearer();
    for right in [
        "create certificatesigningrequests.certificates.k8s.io",
        "get nodes",
        "get configmaps/kubeadm-config -n kube-system",
        "get configmaps/kubelet-config -n kube-system",
        "get configmaps/kube-proxy -n kube-system",
    ] {
        stage.allowed(Who::Admin, &format!("auth can-i {right} {bearer}"))?;
    }
    for right in [
        "create certificatesigningrequests.certificates.k8s.io --subresource=nodeclient",
        "get secrets -n kube-system",
        "create nodes",
    ] {
        let answer = stage.refused(Who::Admin, &format!("auth can-i {right} {bearer}"), "no");
        ensure!(answer.is_ok(), "a token may {right}: {answer:?}");
    }
    Ok(())
}

/// Has somebody ask for a client certificate.
pub(crate) fn ask(
    stage: &Stage,
    name: &str,
    signer: &str,
    common_name: &str,
    key: &KeyPair,
    asker: &str,
) -> anyhow::Result<()> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    let request = parameters.serialize_request(key)?.pem()?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": signer,
            "usages": ["digital signature", "client auth"],
        },
    });
    stage.allowed(Who::Admin, &format!("create -f {} {asker}", file(&object)?))?;
    Ok(())
}

pub(crate) fn reconcile_approves_our_group_only(stage: &Stage) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let ask = |name: &str, signer: &str, asker: &str| {
        let common_name = format!("system:node:{INSTANCE}");
        ask(stage, name, signer, &common_name, &key, asker)
    };
    ask("ours", KUBELETS, &bearer())?;
    ask("serving", "kubernetes.io/kubelet-serving", &bearer())?;
    stage.refused(Who::Reconcile, "certificate deny ours", "never denied")?;
    stage.refused(Who::Reconcile, "certificate approve serving", "forbidden")?;
    stage.refused(Who::Serve, "certificate approve ours", "forbidden")?;
    ask("foreign", KUBELETS, &format!("--as=somebody --as-group={OURS}"))?;
    stage.refused(
        Who::Reconcile,
        "certificate approve foreign",
        "with a token of our group",
    )?;
    stage.allowed(Who::Reconcile, "certificate approve ours")?;
    Ok(())
}
