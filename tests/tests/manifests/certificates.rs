//! The group of our tokens, and the approval of what it asks for.

use anyhow::ensure;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::json;

use crate::stage::{INSTANCE, Stage, Who, file};

const KUBELETS: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
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
pub(crate) fn ask(stage: &Stage, name: &str, common_name: &str, key: &KeyPair, asker: &str) -> anyhow::Result<()> {
    ask_for(stage, name, (KUBELETS, "client auth"), common_name, &[], key, asker)
}

/// Has a node ask for a serving certificate.
pub(crate) fn ask_to_serve(stage: &Stage, name: &str, node: &str, address: &str, key: &KeyPair) -> anyhow::Result<()> {
    let names = [SanType::DnsName(node.try_into()?), SanType::IpAddress(address.parse()?)];
    let user = format!("system:node:{node}");
    ask_for(
        stage,
        name,
        (SERVING, "server auth"),
        &user,
        &names,
        key,
        &as_node(node),
    )
}

/// Whom the API server takes a kubelet for.
pub(crate) fn as_node(node: &str) -> String {
    format!("--as=system:node:{node} --as-group=system:nodes --as-group=system:authenticated")
}

fn ask_for(
    stage: &Stage,
    name: &str,
    (signer, usage): (&str, &str),
    common_name: &str,
    names: &[SanType],
    key: &KeyPair,
    asker: &str,
) -> anyhow::Result<()> {
    let mut parameters = CertificateParams::default();
    parameters.subject_alt_names = names.to_vec();
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
            "usages": ["digital signature", usage],
        },
    });
    stage.allowed(Who::Admin, &format!("create -f {} {asker}", file(&object)?))?;
    Ok(())
}

/// An error if somebody has decided about a request.
pub(crate) fn undecided(stage: &Stage, name: &str) -> anyhow::Result<()> {
    let status = stage.json(&["get", "csr", name])?["status"].clone();
    ensure!(status["conditions"].is_null(), "`{name}` is decided: {status}");
    Ok(())
}

pub(crate) fn reconcile_approves_our_group_only(stage: &Stage) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let user = format!("system:node:{INSTANCE}");
    ask(stage, "ours", &user, &key, &bearer())?;
    stage.refused(Who::Reconcile, "certificate deny ours", "never denied")?;
    stage.refused(Who::Serve, "certificate approve ours", "forbidden")?;
    let somebody = format!("--as=somebody --as-group={OURS}");
    let kubeadms = "--as=system:bootstrap:kubead --as-group=system:bootstrappers:kubeadm:default-node-token";
    for (name, asker) in [("foreign", somebody.as_str()), ("kubeadms", kubeadms)] {
        // Of a node's name, the controller-manager would approve kubeadm's before anybody else.
        ask(stage, name, name, &key, asker)?;
        let what = format!("certificate approve {name}");
        stage.refused(Who::Reconcile, &what, "asked for with a token of our group")?;
    }
    stage.allowed(Who::Reconcile, "certificate approve ours")?;
    Ok(())
}

pub(crate) fn reconcile_approves_what_instances_show_only(stage: &Stage) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    ask_to_serve(stage, "shown", INSTANCE, "10.98.0.2", &key)?;
    ask_to_serve(stage, "shown-on-premises", "worker-1", "192.168.10.11", &key)?;
    let user = format!("system:node:{INSTANCE}");
    ask_for(
        stage,
        "shown-by-a-token",
        (SERVING, "server auth"),
        &user,
        &[],
        &key,
        &bearer(),
    )?;
    stage.refused(Who::Serve, "certificate approve shown", "forbidden")?;
    stage.refused(Who::Reconcile, "certificate deny shown", "never denied")?;
    for name in ["shown-on-premises", "shown-by-a-token"] {
        let what = format!("certificate approve {name}");
        stage.refused(Who::Reconcile, &what, "the node of an instance asked for itself")?;
    }
    let other = "kubernetes.io/kube-apiserver-client";
    ask_for(
        stage,
        "a-user",
        (other, "client auth"),
        "somebody",
        &[],
        &key,
        &bearer(),
    )?;
    stage.refused(Who::Reconcile, "certificate approve a-user", "forbidden")?;
    stage.allowed(Who::Reconcile, "certificate approve shown")?;
    Ok(())
}
