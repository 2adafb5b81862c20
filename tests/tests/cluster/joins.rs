//! The stand-in for kubeadm does to a real API server what kubeadm and the kubelet do.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use dynk8s_lab::cluster::{API_ADDRESS, API_NAME, API_PORT};
use dynk8s_lab::host::room::Room;
use dynk8s_lab::stand_in::{self, Failure};
use p256::SecretKey;
use p256::elliptic_curve::Generate;
use p256::pkcs8::LineEnding;
use serde_json::{Value, json};

use crate::Cluster;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dynk8s-lab-stand-in");
const GROUP: &str = "--group=system:bootstrappers:dynk8s:node";

/// A room that is about to join as a node of its name.
struct Joiner<'a> {
    cluster: &'a Cluster,
    name: &'static str,
    room: Room,
}

impl<'a> Joiner<'a> {
    fn prepare(cluster: &'a Cluster, name: &'static str, token: &str) -> anyhow::Result<Self> {
        let room = Room::furnish(name, cluster.machine.clone())?;
        stand_in::install(&room, PROGRAM.as_ref(), cluster.control_plane.version())?;
        room.write("/etc/hosts", format!("{API_ADDRESS} {API_NAME}\n"), 0o644)?;
        room.remove("/etc/kubernetes")?;
        let server = format!("https://{API_NAME}:{API_PORT}");
        let secret = format!("{token}.0123456789abcdef");
        let discovery = cluster.control_plane.token_kubeconfig(&server, &secret)?;
        room.write("/run/dynk8s/discovery.conf", discovery, 0o600)?;
        let patch = "/run/dynk8s/patches/kubeletconfiguration+merge.json";
        room.write(patch, r#"{"resolvConf": "/etc/dynk8s/resolv.conf"}"#, 0o600)?;
        room.write("/run/dynk8s/join.json", configuration(name, &secret).to_string(), 0o600)?;
        Ok(Self { cluster, name, room })
    }

    fn kubeadm(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut kubeadm = Command::new("kubeadm");
        kubeadm.args(arguments);
        Ok(self.room.run(|| kubeadm.output())??)
    }

    fn join(&self) -> anyhow::Result<Output> {
        self.kubeadm(&["join", "--config", "/run/dynk8s/join.json", "-v=1"])
    }

    /// Joins while somebody approves what is asked in this node's name.
    fn join_approved(&self) -> anyhow::Result<Output> {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let approving = scope.spawn(|| self.approve_until(&done));
            let joined = self.join();
            done.store(true, Ordering::Relaxed);
            match approving.join() {
                Ok(approved) => approved.and(joined),
                Err(_) => bail!("failed to approve"),
            }
        })
    }

    fn approve_until(&self, done: &AtomicBool) -> anyhow::Result<()> {
        while !done.load(Ordering::Relaxed) {
            for request in self.requests()? {
                let name = request["metadata"]["name"].as_str().context("no name")?;
                self.cluster.kubectl(&["certificate", "approve", name])?;
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// The requests of this room's token that nobody has decided yet.
    fn requests(&self) -> anyhow::Result<Vec<Value>> {
        let list = self.cluster.json(&["get", "csr"])?;
        let mut items = list["items"].as_array().cloned().context("no list")?;
        let token = self.room.read_text("/run/dynk8s/join.json")?;
        items.retain(|it| {
            let user = it["spec"]["username"].as_str().unwrap_or_default();
            let id = user.trim_start_matches("system:bootstrap:");
            token.contains(&format!("{id}.")) && it["status"]["conditions"].is_null()
        });
        Ok(items)
    }

    fn node(&self) -> anyhow::Result<Value> {
        self.cluster.json(&["get", "node", self.name])
    }
}

fn configuration(name: &str, token: &str) -> Value {
    let arguments = json!([
        {"name": "provider-id", "value": format!("aws:///eu-central-1a/{name}")},
        {"name": "node-ip", "value": "10.98.0.2"},
        {"name": "node-labels", "value": "topology.kubernetes.io/zone=eu-central-1a,example.org/pool=burst"},
    ]);
    json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": "/run/dynk8s/discovery.conf"}, "tlsBootstrapToken": token},
        "nodeRegistration": {
            "name": name,
            "criSocket": "unix:///run/containerd/containerd.sock",
            "taints": [{"key": "example.org/startup", "effect": "NoSchedule"}],
            "kubeletExtraArgs": arguments,
        },
        "patches": {"directory": "/run/dynk8s/patches"},
        "timeouts": {"tlsBootstrap": "10s"},
    })
}

/// Gives the group of dynk8s' tokens what a join needs, but no approval.
pub(crate) fn admit_group(cluster: &Cluster) -> anyhow::Result<()> {
    for role in ["system:node-bootstrapper", "kubeadm:get-nodes"] {
        let role = format!("--clusterrole={role}");
        let name = role.replace([':', '='], "-").trim_start_matches('-').to_owned();
        cluster.kubectl(&["create", "clusterrolebinding", &name, &role, GROUP])?;
    }
    for role in ["kubeadm:nodes-kubeadm-config", "kubeadm:kubelet-config"] {
        let name = role.replace(':', "-") + "-of-dynk8s";
        let role = format!("--role={role}");
        cluster.kubectl(&["create", "rolebinding", &name, &role, GROUP, "-n", "kube-system"])?;
    }
    Ok(())
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn an_approved_join_makes_a_ready_node(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_token("eeeeee", Duration::from_mins(10))?;
    let joiner = Joiner::prepare(cluster, "i-00000000000000001", "eeeeee")?;
    let key = SecretKey::try_generate()?.to_sec1_pem(LineEnding::LF)?;
    let place = "/var/lib/kubelet/pki/kubelet-client.key.tmp";
    joiner.room.write(place, key.as_bytes(), 0o600)?;

    let output = joiner.join_approved()?;
    ensure!(output.status.success(), "{output:?}");
    let node = joiner.node()?;
    ensure!(
        node["spec"]["providerID"] == "aws:///eu-central-1a/i-00000000000000001",
        "{node}"
    );
    ensure!(node["metadata"]["labels"]["example.org/pool"] == "burst", "{node}");
    let taints = node["spec"]["taints"].as_array().context("no taints")?;
    ensure!(taints.iter().any(|it| it["key"] == "example.org/startup"), "{node}");
    let address = json!({"type": "InternalIP", "address": "10.98.0.2"});
    ensure!(node["status"]["addresses"][0] == address, "{node}");
    ensure!(node["status"]["conditions"][0]["status"] == "True", "{node}");

    ensure!(!joiner.room.exists(place)?, "the first key is still there");
    let pair = joiner
        .room
        .read_text("/var/lib/kubelet/pki/kubelet-client-current.pem")?;
    let same = SecretKey::from_sec1_pem(&key)?;
    let kept = pair
        .find("-----BEGIN PRIVATE KEY")
        .context("no key beside the certificate")?;
    ensure!(p256::pkcs8::DecodePrivateKey::from_pkcs8_pem(&pair[kept..]).is_ok_and(|it: SecretKey| it == same));
    let kubelet = joiner.room.read_text("/var/lib/kubelet/config.yaml")?;
    ensure!(kubelet.contains("/etc/dynk8s/resolv.conf"), "{kubelet}");
    let conf = joiner.room.read_text("/etc/kubernetes/kubelet.conf")?;
    ensure!(conf.contains("server: https://api.onprem.example:6443"), "{conf}");

    // Twice needs a reset, and even then a Ready Node of this name is in the way.
    let again = complaint(&joiner.join()?);
    ensure!(again.contains("kubelet.conf already exists"), "{again}");
    let reset = joiner.kubeadm(&["reset", "-f"])?;
    ensure!(reset.status.success(), "{reset:?}");
    ensure!(
        !joiner.room.exists("/etc/kubernetes/kubelet.conf")?,
        "kubelet.conf is left"
    );
    let again = complaint(&joiner.join()?);
    ensure!(again.contains("status \"Ready\" already exists"), "{again}");
    Ok(())
}

pub(crate) fn a_join_without_approval_gives_up(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_token("ffffff", Duration::from_mins(10))?;
    let joiner = Joiner::prepare(cluster, "i-00000000000000002", "ffffff")?;
    let hasty = configuration(joiner.name, "ffffff.0123456789abcdef")
        .to_string()
        .replace("10s", "1s");
    joiner.room.write("/run/dynk8s/join.json", hasty, 0o600)?;
    let output = joiner.join()?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(complaint(&output).contains("was not approved within 1s"), "{output:?}");
    ensure!(joiner.node().is_err(), "there is a Node without a certificate");
    Ok(())
}

pub(crate) fn a_join_with_an_unknown_token_is_refused(cluster: &Cluster) -> anyhow::Result<()> {
    let joiner = Joiner::prepare(cluster, "i-00000000000000003", "999999")?;
    let output = joiner.join()?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(complaint(&output).contains("401 Unauthorized"), "{output:?}");
    Ok(())
}

pub(crate) fn a_join_fails_once_as_told(cluster: &Cluster) -> anyhow::Result<()> {
    let joiner = Joiner::prepare(cluster, "i-00000000000000004", "999999")?;
    let failure = Failure {
        complaint: "error: the disk is full".to_owned(),
        exit_code: 7,
    };
    stand_in::fail_next_join(&joiner.room, &failure)?;
    let output = joiner.join()?;
    ensure!(output.status.code() == Some(7), "{output:?}");
    ensure!(complaint(&output) == "error: the disk is full\n", "{output:?}");
    ensure!(
        complaint(&joiner.join()?).contains("401 Unauthorized"),
        "it failed as told twice"
    );

    let version = joiner.kubeadm(&["version", "-o", "short"])?;
    let version = String::from_utf8(version.stdout)?;
    ensure!(version.trim() == cluster.control_plane.version(), "{version}");
    Ok(())
}
