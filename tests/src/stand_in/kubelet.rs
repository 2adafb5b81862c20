//! The kubelet after the join, as far as anybody sees it from outside: on its port it shows a certificate, which the cluster's CA has
//! signed if its configuration says so.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::routing::get;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Map, Value};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::api::Client;
use super::certificate;
use super::configuration::NodeRegistration;
use super::discovery::Cluster;
use crate::aws::server::Server;

pub(super) const NAME: &str = "kubelet";
pub(super) const PORT: u16 = 10250;

const PROCESS: &str = "/run/dynk8s-lab-kubelet.pid";
const LOG: &str = "/var/log/dynk8s-lab-kubelet.log";
/// As long as a kubelet waits for its certificate before it asks again.
const SIGNED_WITHIN: Duration = Duration::from_mins(15);
/// The port of one that was killed is free in a moment.
const FREE_WITHIN: Duration = Duration::from_secs(5);

/// Starts it as a process that outlives the join, as a unit does.
pub(super) fn start(
    server: &str,
    registration: &NodeRegistration,
    settings: &Map<String, Value>,
) -> anyhow::Result<()> {
    let log = fs::File::create(LOG).with_context(|| format!("failed to open `{LOG}`"))?;
    let signed = settings.get("serverTLSBootstrap") == Some(&Value::Bool(true));
    let addresses = registration.argument("node-ip").unwrap_or_default();
    let mut command = Command::new("/usr/bin/kubeadm");
    command.arg0(NAME).args([server, registration.name.as_str(), addresses]);
    command.arg(if signed { "signed" } else { "self-signed" });
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let kubelet = command
        .process_group(0)
        .spawn()
        .context("failed to start the kubelet")?;
    let id = kubelet.id().context("the kubelet ended at once")?;
    fs::write(PROCESS, id.to_string()).with_context(|| format!("failed to write `{PROCESS}`"))
}

/// Ends the one that runs, if there is one.
pub(super) fn stop() -> anyhow::Result<()> {
    let id = match fs::read_to_string(PROCESS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("failed to read `{PROCESS}`"))?,
    };
    // It fails only if the process has ended already.
    let _ = kill(Pid::from_raw(id.parse()?), Signal::SIGKILL);
    fs::remove_file(PROCESS).with_context(|| format!("failed to remove `{PROCESS}`"))
}

/// What the process does.
pub(super) async fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let [server, node, addresses, signature] = *arguments else {
        bail!("not a command of this kubelet: {arguments:?}");
    };
    let (chain, key) = if signature == "signed" {
        signed(server, node, addresses).await?
    } else {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([node.to_owned()])?.self_signed(&key)?;
        (certificate.pem(), key)
    };
    let _server = listen(identity(&chain, &key)?).await?;
    std::future::pending().await
}

async fn signed(server: &str, node: &str, addresses: &str) -> anyhow::Result<(String, KeyPair)> {
    let cluster = Cluster {
        server: server.to_owned(),
        authority: fs::read_to_string(super::join::AUTHORITY).context("failed to read the authority")?,
    };
    let pem = fs::read_to_string(super::join::CERTIFICATE).context("failed to read the kubelet's certificate")?;
    let client = Client::with_certificate(&cluster, &pem)?;
    let addresses: Result<Vec<_>, _> = addresses.split(',').map(str::parse).collect();
    certificate::serving(&client, node, &addresses?, SIGNED_WITHIN).await
}

async fn listen(identity: Arc<ServerConfig>) -> anyhow::Result<Server> {
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let end = Instant::now() + FREE_WITHIN;
    loop {
        let routes = Router::new().route("/healthz", get(async || "ok"));
        match Server::tls(address, routes, identity.clone()).await {
            Err(_) if Instant::now() < end => sleep(Duration::from_millis(50)).await,
            done => return done,
        }
    }
}

fn identity(chain: &str, key: &KeyPair) -> anyhow::Result<Arc<ServerConfig>> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(Arc::new(builder.with_single_cert(chain?, key)?))
}
