//! `kubeadm join`, and what the kubelet that it starts does next.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::api::Client;
use super::configuration::{JoinConfiguration, NodeRegistration};
use super::discovery::Cluster;
use super::{FAILURE, Failure, VERSION, certificate, kubelet, node, patches, print};

pub(super) const AUTHORITY: &str = "/etc/kubernetes/pki/ca.crt";
const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
/// Of this only what is patched is there: nothing here reads the rest.
const KUBELET_CONFIGURATION: &str = "/var/lib/kubelet/config.yaml";
pub(super) const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

pub(super) async fn run(configuration: &Path) -> anyhow::Result<ExitCode> {
    if let Some(code) = fail_if_told()? {
        return Ok(code);
    }
    let configuration = JoinConfiguration::read(configuration)?;
    let registration = &configuration.node_registration;
    print("[preflight] Running pre-flight checks");
    let cluster = Cluster::read(&configuration.discovery.file.kube_config_path)?;
    let client = Client::with_token(&cluster, &configuration.discovery.tls_bootstrap_token)?;
    check(&client, registration)
        .await
        .context("error execution phase preflight")?;

    print("[kubelet-start] Starting the kubelet");
    write(AUTHORITY, &cluster.authority)?;
    let mut settings = Map::new();
    if let Some(given) = &configuration.patches {
        settings = patches::read(&given.directory).context("error execution phase kubelet-start")?;
        write(KUBELET_CONFIGURATION, &Value::from(settings.clone()).to_string())?;
    }
    let obtained = certificate::obtain(&client, &registration.name, configuration.tls_bootstrap()).await;
    let pem = obtained.context("error execution phase kubelet-wait-bootstrap")?;
    write(CERTIFICATE, &pem)?;
    write(KUBELET_CONF, &kubelet_conf(&cluster))?;
    print("This node has joined the cluster");

    register(&Client::with_certificate(&cluster, &pem)?, registration).await?;
    kubelet::start(&cluster.server, registration, &settings)?;
    Ok(ExitCode::SUCCESS)
}

fn fail_if_told() -> anyhow::Result<Option<ExitCode>> {
    let text = match fs::read(FAILURE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("failed to read `{FAILURE}`"))?,
    };
    fs::remove_file(FAILURE).with_context(|| format!("failed to remove `{FAILURE}`"))?;
    let failure: Failure =
        serde_json::from_slice(&text).with_context(|| format!("failed to understand `{FAILURE}`"))?;
    complain(&failure.complaint);
    Ok(Some(ExitCode::from(failure.exit_code)))
}

#[expect(clippy::print_stderr, reason = "a program's complaint")]
fn complain(text: &str) {
    eprintln!("{text}");
}

/// What kubeadm looks at before it changes anything.
async fn check(client: &Client, registration: &NodeRegistration) -> anyhow::Result<()> {
    for (path, code) in [
        (KUBELET_CONF, "FileAvailable--etc-kubernetes-kubelet.conf"),
        (AUTHORITY, "FileAvailable--etc-kubernetes-pki-ca.crt"),
    ] {
        if Path::new(path).exists() {
            bail!("[preflight] Some fatal errors occurred:\n\t[ERROR {code}]: {path} already exists");
        }
    }
    for name in ["kubeadm-config", "kubelet-config"] {
        let path = format!("/api/v1/namespaces/kube-system/configmaps/{name}");
        let found = client.get(&path).await?.object();
        found.with_context(|| format!("unable to fetch the {name} ConfigMap"))?;
    }
    let name = &registration.name;
    let answer = client.get(&format!("/api/v1/nodes/{name}")).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(());
    }
    let node = answer.object().with_context(|| format!("cannot get Node {name:?}"))?;
    let conditions = node["status"]["conditions"].as_array();
    if conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")) {
        bail!("a Node with name {name:?} and status \"Ready\" already exists in the cluster");
    }
    Ok(())
}

/// What a kubelet does once it has its certificate.
async fn register(client: &Client, registration: &NodeRegistration) -> anyhow::Result<()> {
    let name = &registration.name;
    let version = fs::read_to_string(VERSION).with_context(|| format!("failed to read `{VERSION}`"))?;
    let node = node::node(registration, version.trim(), Timestamp::now());
    let created = client.create("/api/v1/nodes", &node).await?;
    // A Node of before is taken over, as a kubelet does.
    if created.status != StatusCode::CONFLICT {
        created
            .object()
            .with_context(|| format!("unable to register node {name:?}"))?;
    }
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let lease = client.create(path, &node::lease(name, Timestamp::now())).await?;
    if lease.status != StatusCode::CONFLICT {
        lease
            .object()
            .with_context(|| format!("unable to lease node {name:?}"))?;
    }
    let status = format!("/api/v1/nodes/{name}/status");
    let ready = client.patch(&status, &node::readiness(true, Timestamp::now())).await?;
    ready
        .object()
        .with_context(|| format!("unable to update the status of node {name:?}"))?;
    Ok(())
}

/// In the words and the form of the kubelet, which writes YAML.
fn kubelet_conf(cluster: &Cluster) -> String {
    let server = &cluster.server;
    let authority = BASE64_STANDARD.encode(&cluster.authority);
    format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {authority}\n    server: {server}\n  name: default-cluster\n\
         contexts:\n- context:\n    cluster: default-cluster\n    namespace: default\n    user: default-auth\n  name: default-context\n\
         current-context: default-context\nkind: Config\npreferences: {{}}\n\
         users:\n- name: default-auth\n  user:\n    client-certificate: {CERTIFICATE}\n    client-key: {CERTIFICATE}\n"
    )
}

fn write(path: &str, text: &str) -> anyhow::Result<()> {
    let written = || -> io::Result<()> {
        if let Some(folder) = Path::new(path).parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    };
    written().with_context(|| format!("failed to write `{path}`"))
}
