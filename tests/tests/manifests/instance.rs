//! One instance, as far as the cluster meets it: its key, its claim, its kubelet and its Node.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::aws::server::Server;
use rcgen::{KeyPair, PublicKeyData as _};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::certificates;
use crate::stage::{Stage, Who, file};
use dynk8s_lab::cluster::NAMESPACE;

pub(crate) const INSTANCE: &str = "i-0ccccccccccccccc0";
pub(crate) const ADDRESS: &str = "10.98.0.77";
const LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";
pub(crate) const WITHIN: Duration = Duration::from_secs(20);

/// The kubelet gets its serving certificate and listens with it.
pub(crate) fn show_certificate(stage: &Stage) -> anyhow::Result<Server> {
    stage.machine.ip(&format!("address add {ADDRESS}/32 dev lan\n"))?;
    let key = KeyPair::generate()?;
    certificates::ask_to_serve(stage, "too-much", INSTANCE, "192.168.10.10", &key)?;
    certificates::ask_to_serve(stage, "serving", INSTANCE, ADDRESS, &key)?;
    let chain = signed(stage, "serving")?;
    certificates::undecided(stage, "too-much")?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let identity = Arc::new(builder.with_single_cert(chain?, private)?);
    let address = format!("{ADDRESS}:10250").parse()?;
    stage
        .machine
        .wait_for(async move { Server::tls(address, axum::Router::new(), identity).await })?
}

/// Waits for a certificate.
pub(crate) fn signed(stage: &Stage, request: &str) -> anyhow::Result<Vec<u8>> {
    let request = format!("csr/{request}");
    let issued = [
        "wait",
        &request,
        "--for=jsonpath={.status.certificate}",
        "--timeout=20s",
    ];
    stage.kubectl(&issued)?;
    let signed = stage.json(&["get", &request])?;
    let certificate = signed["status"]["certificate"].as_str().context("no certificate")?;
    Ok(BASE64_STANDARD.decode(certificate)?)
}

/// Waits until pods may come.
pub(crate) fn admitted(stage: &Stage) -> anyhow::Result<()> {
    let worker = format!("worker/{INSTANCE}");
    let admitted = [
        "wait",
        &worker,
        "-n",
        NAMESPACE,
        "--for=condition=Admitted",
        "--timeout=20s",
    ];
    stage.kubectl(&admitted)?;
    let node = stage.json(&["get", "node", INSTANCE])?;
    ensure!(
        node["metadata"]["labels"]["node-role.kubernetes.io/burst"] == "",
        "{node}"
    );
    ensure!(!node["spec"]["taints"].to_string().contains("startup-taint"), "{node}");
    Ok(())
}

/// Waits until the Node is gone.
pub(crate) fn absent(stage: &Stage) -> anyhow::Result<()> {
    let node = format!("node/{INSTANCE}");
    stage.kubectl(&["wait", &node, "--for=delete", "--timeout=20s"])?;
    Ok(())
}

/// A key, and what `serve` would record of an instance that claims.
pub(crate) fn claim(stage: &Stage, kubelet_key: &KeyPair) -> anyhow::Result<()> {
    let document = format!(
        "[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = {ADDRESS}/32\nDNS = 192.168.10.1\n\
         [Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\
         Endpoint = vpn.onprem.example:51820\nAllowedIPs = 192.168.10.0/24\n"
    );
    let key = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "dynk8s.du5t1n.me/wireguard-key",
        "metadata": {"name": "key-1", "namespace": NAMESPACE, "labels": {LABEL: ""}},
        "stringData": {"wireguard-config": document},
    });
    let worker = json!({
        "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": INSTANCE, "namespace": NAMESPACE},
        "spec": {"instanceId": INSTANCE, "wished": "running"},
    });
    for object in [key, worker] {
        stage.allowed(Who::Admin, &format!("create -f {}", file(&object)?))?;
    }
    let time = jiff::Timestamp::now().to_string();
    let hash = ring::digest::digest(&ring::digest::SHA256, &kubelet_key.subject_public_key_info());
    let (account, region) = ("123456789012", "eu-central-1");
    let status = json!({"status": {
        "announced": {"state": "running", "account": account, "region": region, "time": time},
        "attested": {"account": account, "region": region, "time": time},
        "claim": {
            "key": "not looked at",
            "kubeletKey": BASE64_STANDARD.encode(hash),
            "kubeletVersion": "v1.37.2",
            "time": time,
        },
    }});
    patch(stage, &["--subresource=status"], &status)
}

pub(crate) fn patch(stage: &Stage, flags: &[&str], patch: &Value) -> anyhow::Result<()> {
    let patch = patch.to_string();
    let words = [
        "patch",
        "worker",
        INSTANCE,
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        &patch,
    ];
    stage.kubectl(&[&words, flags].concat())?;
    Ok(())
}

pub(crate) fn startup_taint() -> Value {
    json!([{"key": "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s", "effect": "NoSchedule"}])
}

pub(crate) fn node(taints: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": INSTANCE},
        "spec": {"providerID": format!("aws:///eu-central-1a/{INSTANCE}"), "taints": taints},
    })
}

/// What a kubelet says of itself.
pub(crate) fn register(stage: &Stage) -> anyhow::Result<()> {
    let node = file(&node(&startup_taint()))?;
    stage.allowed(
        Who::Admin,
        &format!("create -f {node} {}", certificates::as_node(INSTANCE)),
    )?;
    let now = format!("{:.0}", jiff::Timestamp::now());
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    let status = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": ADDRESS}],
        "conditions": [ready],
    }});
    let status = status.to_string();
    let words = [
        "patch",
        "node",
        INSTANCE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ];
    stage.kubectl(&words)?;
    Ok(())
}

pub(crate) fn holder(stage: &Stage) -> anyhow::Result<String> {
    let key = stage.json(&["get", "secret", "-n", NAMESPACE, "key-1"])?;
    Ok(key["metadata"]["labels"][LABEL]
        .as_str()
        .context("no label")?
        .to_owned())
}

/// Waits for a phase.
pub(crate) fn until(stage: &Stage, phase: &str) -> anyhow::Result<Value> {
    until_within(stage, phase, WITHIN)
}

pub(crate) fn until_within(stage: &Stage, phase: &str, patience: Duration) -> anyhow::Result<Value> {
    let end = Instant::now() + patience;
    loop {
        let worker = stage.json(&["get", "worker", "-n", NAMESPACE, INSTANCE])?;
        if worker["status"]["phase"] == phase {
            return Ok(worker);
        }
        if Instant::now() > end {
            bail!("not {phase} within {patience:?}: {}", worker["status"]);
        }
        sleep(Duration::from_millis(100));
    }
}
