//! The real `reconcile` with its own account: its rights are enough for the life of an instance.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::process::Process;
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};

use crate::certificates;
use crate::stage::{NAMESPACE, Stage, Who, file};

const INSTANCE: &str = "i-0ccccccccccccccc0";
const ADDRESS: &str = "10.98.0.77";
const LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";
const WITHIN: Duration = Duration::from_secs(20);
const CONFIGURATION: &str = r#"
cluster = { server = "https://api.onprem.example:6443" }
sns = { topics = ["arn:aws:sns:eu-central-1:123456789012:dynk8s"] }
times = { key_cooldown_seconds = 3 }

[[node_group]]
name = "burst"
accounts = ["123456789012"]
regions = ["eu-central-1"]
labels = { "node-role.kubernetes.io/burst" = "" }
"#;

fn it_refuses_automatic_approval(stage: &Stage) -> anyhow::Result<()> {
    let role = "--clusterrole=system:certificates.k8s.io:certificatesigningrequests:nodeclient";
    let binding = format!("create clusterrolebinding careless {role} --group=system:bootstrappers");
    stage.allowed(Who::Admin, &binding)?;
    let words = ["system:bootstrappers", "careless", "any token could become any node"];
    let end = Instant::now() + WITHIN;
    let log = Path::new(SCRATCH).join("careless.log");
    let mut process = start(stage, 8082, &log)?;
    while process.check().is_ok() {
        ensure!(Instant::now() < end, "it works on; {}", process.last_lines(20));
        sleep(Duration::from_millis(100));
    }
    stage.allowed(Who::Admin, "delete clusterrolebinding careless")?;
    let said = std::fs::read_to_string(&log)?;
    let missing = words.iter().find(|it| !said.contains(**it));
    ensure!(missing.is_none(), "no `{missing:?}` in `{said}`");
    Ok(())
}

pub(crate) fn its_rights_are_enough(stage: &Stage) -> anyhow::Result<()> {
    it_refuses_automatic_approval(stage)?;
    // As in a roll-out: two at once get in each other's way, and nothing else.
    let logs = ["one.log", "two.log"].map(|it| Path::new(SCRATCH).join(it));
    let (one, two) = (start(stage, 8082, &logs[0])?, start(stage, 8083, &logs[1])?);
    live(stage).with_context(|| format!("{}\n{}", one.last_lines(30), two.last_lines(30)))?;
    for log in &logs {
        let said = std::fs::read_to_string(log)?;
        let refused = said
            .lines()
            // The pool is as small as it can be, and that is said.
            .filter(|it| !it.contains("WireGuard keys is free"))
            .find(|it| it.contains("\"WARN\"") || it.contains("\"ERROR\""));
        ensure!(refused.is_none(), "{refused:?}");
    }
    Ok(())
}

fn start(stage: &Stage, health: u16, log: &Path) -> anyhow::Result<Process> {
    let configuration = log.with_extension("toml");
    std::fs::write(
        &configuration,
        format!("health_listen = \"127.0.0.1:{health}\"\n{CONFIGURATION}"),
    )?;
    let mut command = Command::new(&stage.provisioner);
    command
        .arg("reconcile")
        .arg("--config")
        .arg(&configuration)
        .env("KUBECONFIG", Path::new(SCRATCH).join("reconcile"));
    Process::start(command, log, &stage.spawn)
}

fn live(stage: &Stage) -> anyhow::Result<()> {
    let kubelet_key = KeyPair::generate()?;
    claim(stage, &kubelet_key)?;
    let worker = until(stage, "Joining")?;
    let token = worker["status"]["token"]["id"].as_str().context("no token")?;
    let secret = format!("bootstrap-token-{token}");
    stage.kubectl(&["get", "secret", "-n", "kube-system", &secret])?;
    ensure!(holder(stage)? == INSTANCE, "the key is not labelled");

    let asker = format!("--as=system:bootstrap:{token} --as-group=system:bootstrappers:dynk8s:node");
    let name = format!("system:node:{INSTANCE}");
    certificates::ask(stage, "first", certificates::KUBELETS, &name, &kubelet_key, &asker)?;
    let issued = [
        "wait",
        "csr/first",
        "--for=jsonpath={.status.certificate}",
        "--timeout=20s",
    ];
    stage.kubectl(&issued)?;

    register(stage)?;
    let worker = until(stage, "Ready")?;
    ensure!(worker["status"]["token"].is_null(), "{}", worker["status"]);
    let node = stage.json(&["get", "node", INSTANCE])?;
    ensure!(
        node["metadata"]["labels"]["node-role.kubernetes.io/burst"] == "",
        "{node}"
    );
    ensure!(!node["spec"]["taints"].to_string().contains("startup-taint"), "{node}");
    let left = stage.kubectl(&["get", "secret", "-n", "kube-system", &secret, "--ignore-not-found"])?;
    ensure!(left.is_empty(), "{left}");

    patch(stage, &[], &json!({"spec": {"wished": "gone"}}))?;
    until(stage, "Gone")?;
    ensure!(holder(stage)?.is_empty(), "the key is not free");
    let left = stage.kubectl(&["get", "node", INSTANCE, "--ignore-not-found"])?;
    ensure!(left.is_empty(), "{left}");
    Ok(())
}

/// A key, and what `serve` would record of an instance that claims.
fn claim(stage: &Stage, kubelet_key: &KeyPair) -> anyhow::Result<()> {
    let document = format!(
        "[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = {ADDRESS}/32\n\
         [Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
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

fn patch(stage: &Stage, flags: &[&str], patch: &Value) -> anyhow::Result<()> {
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

/// What a kubelet says of itself.
fn register(stage: &Stage) -> anyhow::Result<()> {
    let taint = "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s";
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": INSTANCE},
        "spec": {
            "providerID": format!("aws:///eu-central-1a/{INSTANCE}"),
            "taints": [{"key": taint, "effect": "NoSchedule"}],
        },
    });
    let kubelet = format!("--as=system:node:{INSTANCE} --as-group=system:nodes --as-group=system:authenticated");
    stage.allowed(Who::Admin, &format!("create -f {} {kubelet}", file(&node)?))?;
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

fn holder(stage: &Stage) -> anyhow::Result<String> {
    let key = stage.json(&["get", "secret", "-n", NAMESPACE, "key-1"])?;
    Ok(key["metadata"]["labels"][LABEL]
        .as_str()
        .context("no label")?
        .to_owned())
}

/// Waits for a phase.
fn until(stage: &Stage, phase: &str) -> anyhow::Result<Value> {
    let end = Instant::now() + WITHIN;
    loop {
        let worker = stage.json(&["get", "worker", "-n", NAMESPACE, INSTANCE])?;
        if worker["status"]["phase"] == phase {
            return Ok(worker);
        }
        if Instant::now() > end {
            bail!("not {phase} within {WITHIN:?}: {}", worker["status"]);
        }
        sleep(Duration::from_millis(100));
    }
}
