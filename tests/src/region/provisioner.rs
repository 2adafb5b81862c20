//! The provisioner on the premises: both of its halves, each with the rights of its own service account and no others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use crate::aws::certificates::Authority;
use crate::aws::cloud::Credentials;
use crate::aws::imds;
use crate::cluster::{API_NAME, API_PORT, ControlPlane, NAMESPACE};
use crate::host::containment::SCRATCH;
use crate::host::process::{Process, run};
use crate::host::room::Room;
use crate::topology::Topology;
use crate::topology::addresses::{ACCOUNT, REGION};

/// Where `serve` listens, for the ingress alone.
pub(super) const LISTEN: &str = "192.168.10.1:8080";
/// How long a key rests here, in seconds. Users wait longer; what is shown is that it rests at all.
pub const KEY_COOLDOWN: u64 = 5;

/// Whose signatures on identity documents are believed beside those of the real AWS.
const CERTIFICATES: &str = "/etc/dynk8s/certificates";

/// Where `reconcile` finds credentials of AWS, once somebody has put them there.
const CREDENTIALS: &str = "/etc/dynk8s/aws-credentials";

const READY_WITHIN: Duration = Duration::from_secs(30);

/// `dynk8s-provisioner` as two processes.
#[derive(Debug)]
pub struct Provisioner {
    room: Room,
    topic: String,
    /// What is configured beyond the usual.
    more: String,
    serve: Option<Process>,
    reconcile: Option<Process>,
}

impl Provisioner {
    /// Starts both, in a file tree of their own with the resolver of the LAN.
    pub(super) async fn start(
        program: &Path,
        control_plane: &ControlPlane,
        topology: &Topology,
        authority: &Authority,
        topic: &str,
    ) -> anyhow::Result<Self> {
        let room = topology.premises.room("provisioner")?;
        room.install(program, "/usr/bin/dynk8s-provisioner")?;
        room.write("/etc/dynk8s/ca.pem", authority.pem(), 0o644)?;
        let signer = format!("{CERTIFICATES}/{REGION}.pem");
        room.write(&signer, imds::certificate()?, 0o644)?;
        let server = format!("https://{API_NAME}:{API_PORT}");
        for half in ["serve", "reconcile"] {
            let account = format!("dynk8s-provisioner-{half}");
            let kubeconfig = control_plane
                .service_account_kubeconfig(NAMESPACE, &account, &server)
                .await?;
            room.write(&format!("/etc/dynk8s/{half}.kubeconfig"), kubeconfig, 0o600)?;
        }
        let mut provisioner = Self {
            room,
            topic: topic.to_owned(),
            more: String::new(),
            serve: None,
            reconcile: None,
        };
        provisioner.start_again().await?;
        Ok(provisioner)
    }

    /// Has both work with another configuration: `more` stands at the end of `[times]` and before the node group.
    pub async fn configure(&mut self, more: &str) -> anyhow::Result<()> {
        if self.more == more {
            return Ok(());
        }
        more.clone_into(&mut self.more);
        self.stop_serve();
        self.stop_reconcile();
        self.start_again().await
    }

    async fn start_again(&mut self) -> anyhow::Result<()> {
        for half in ["serve", "reconcile"] {
            let text = configuration(half, &self.topic, &self.more);
            self.room.write(&format!("/etc/dynk8s/{half}.toml"), text, 0o644)?;
        }
        self.start_serve().await?;
        self.start_reconcile().await
    }

    /// Gives `reconcile` credentials of AWS, in a file as an operator would mount it.
    pub fn give_credentials(&self, credentials: &Credentials) -> anyhow::Result<()> {
        let text = format!(
            "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\naws_session_token = {}\n",
            credentials.access_key_id, credentials.secret_access_key, credentials.token
        );
        self.room.write(CREDENTIALS, text, 0o600)
    }

    /// Takes them away again.
    pub fn take_credentials(&self) -> anyhow::Result<()> {
        self.room.remove(CREDENTIALS)
    }

    /// All that one half has said so far.
    pub fn log(half: &str) -> String {
        std::fs::read_to_string(log(half)).unwrap_or_default()
    }

    /// The public half of its key, as `agent.toml` pins it.
    pub async fn key(&self) -> anyhow::Result<String> {
        let command = command("serve", &["key"]);
        let key = run(command, b"", READY_WITHIN, &self.room.spawner()).await?;
        Ok(key.trim().to_owned())
    }

    pub async fn start_serve(&mut self) -> anyhow::Result<()> {
        self.serve = Some(self.launch("serve").await?);
        Ok(())
    }

    pub async fn start_reconcile(&mut self) -> anyhow::Result<()> {
        self.reconcile = Some(self.launch("reconcile").await?);
        Ok(())
    }

    /// Kills the half that faces the internet.
    pub fn stop_serve(&mut self) {
        self.serve = None;
    }

    /// Kills the half that acts.
    pub fn stop_reconcile(&mut self) {
        self.reconcile = None;
    }

    /// An error if one of the halves has ended by itself.
    pub fn check(&mut self) -> anyhow::Result<()> {
        [&mut self.serve, &mut self.reconcile]
            .into_iter()
            .flatten()
            .try_for_each(Process::check)
    }

    async fn launch(&self, half: &str) -> anyhow::Result<Process> {
        let command = command(half, &[half, &format!("--config=/etc/dynk8s/{half}.toml")]);
        let mut process = Process::start(command, &log(half), &self.room.spawner())?;
        self.wait_until_ready(half, &mut process).await?;
        Ok(process)
    }

    async fn wait_until_ready(&self, half: &str, process: &mut Process) -> anyhow::Result<()> {
        let url = format!("http://{}/readyz", health(half));
        let end = Instant::now() + READY_WITHIN;
        loop {
            process.check()?;
            let namespace = self.room.namespace();
            let ask = super::aws::within(namespace, says_yes(url.clone()));
            match ask.await {
                Ok(()) => return Ok(()),
                Err(_) if Instant::now() < end => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(error) => bail!(
                    "`{half}` is not ready after {READY_WITHIN:?}: {error:#}; {}",
                    process.last_lines(20)
                ),
            }
        }
    }
}

fn log(half: &str) -> PathBuf {
    Path::new(SCRATCH).join(format!("provisioner-{half}.log"))
}

/// Asks a page whose answer is yes or no.
async fn says_yes(url: String) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().build()?;
    let status = client.get(url).send().await?.status();
    ensure!(status.is_success(), "it answers {status}");
    Ok(())
}

/// The program with the rights of one half.
fn command(half: &str, words: &[&str]) -> Command {
    let mut command = Command::new("/usr/bin/dynk8s-provisioner");
    command
        .env_clear()
        .env("SSL_CERT_FILE", "/etc/dynk8s/ca.pem")
        .env("KUBECONFIG", format!("/etc/dynk8s/{half}.kubeconfig"))
        .args(words)
        .arg(format!("--namespace={NAMESPACE}"));
    if half == "reconcile" {
        command.env("AWS_SHARED_CREDENTIALS_FILE", CREDENTIALS);
    }
    command
}

fn health(half: &str) -> &'static str {
    if half == "serve" {
        "127.0.0.1:8081"
    } else {
        "127.0.0.1:8082"
    }
}

fn configuration(half: &str, topic: &str, more: &str) -> String {
    let health = health(half);
    format!(
        r#"listen = "{LISTEN}"
health_listen = "{health}"

[cluster]
server = "https://{API_NAME}:{API_PORT}"

[sns]
topics = ["{topic}"]

[proof]
certificates = "{CERTIFICATES}"

[times]
key_cooldown_seconds = {KEY_COOLDOWN}
{more}
[[node_group]]
name = "burst"
accounts = ["{ACCOUNT}"]
regions = ["{REGION}"]
labels = {{ "example.org/pool" = "burst", "node-role.kubernetes.io/burst" = "" }}
taints = [{{ key = "example.org/burst", value = "yes", effect = "NoSchedule" }}]
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::addresses::PREMISES_GATEWAY;

    #[test]
    fn it_listens_on_the_lan() {
        let (host, _) = LISTEN.split_once(':').unwrap();
        assert_eq!(host, PREMISES_GATEWAY.to_string());
    }
}
