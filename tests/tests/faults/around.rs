//! What is wrong around a node that is Ready: pods there would suffer, and the Worker tells of it.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::aws::cloud::Instance;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::region::Site;
use serde_json::{Value, json};

use crate::stage::{SOON, Stage};
use crate::tunnel::is_ready;

/// Where kubeadm lets cluster DNS be.
const CLUSTER_DNS: &str = "10.96.0.10";
/// The agent gives everything a minute to start.
const SETTLED: Duration = Duration::from_secs(100);

/// Cluster DNS answers by UDP alone, and pods' packets are larger than the tunnel's.
pub(crate) async fn pods_would_suffer(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    is_ready(&site, 1).await?;
    // The API server answers, and there is neither DNS nor a network of pods in this cluster.
    is_connected(stage, &instance, &site, "True", "Sound").await?;

    stage.region.control_plane.apply(&kube_dns().to_string()).await?;
    let outcome = with_kube_dns(stage, &instance, &mut site).await;
    let words = ["delete", "service", "kube-dns", "--namespace=kube-system"];
    stage.region.control_plane.kubectl(&words).await?;
    outcome
}

async fn with_kube_dns(stage: &Stage, instance: &Instance, site: &mut Site) -> anyhow::Result<()> {
    let settings = format!("clusterDNS:\n- {CLUSTER_DNS}\nclusterDomain: cluster.local\n");
    site.room.write("/var/lib/kubelet/config.yaml", settings, 0o600)?;
    site.room
        .write("/etc/cni/net.d/10-lab.conflist", conflist(9000), 0o644)?;
    answers_by_udp(site.host().namespace())?;
    site.kill();
    site.start()?;
    is_ready(site, 2).await?;
    let message = is_connected(stage, instance, site, "False", "Impaired").await?;
    let (log, status) = (site.log(), site.asks("status")?);
    for finding in [
        format!("cluster DNS at {CLUSTER_DNS} answers by UDP and not by TCP"),
        "packets of pods have up to 9000 bytes".to_owned(),
    ] {
        for text in [&message, &log, &status] {
            ensure!(text.contains(&finding), "`{finding}` is not in:\n{text}");
        }
    }
    let worker = stage.region.worker(instance).await?.unwrap_or_default();
    let found = &worker["status"]["journey"]["impaired"];
    ensure!(found.as_array().map(Vec::len) == Some(2), "more is found: {found}");
    Ok(())
}

/// Waits for the condition, and returns its message.
async fn is_connected(
    stage: &Stage,
    instance: &Instance,
    site: &Site,
    status: &str,
    reason: &str,
) -> anyhow::Result<String> {
    let is_so = |it: &&Value| it["type"] == "Connected" && it["status"] == status && it["reason"] == reason;
    let find = |worker: &Value| -> Option<Value> {
        let conditions = worker["status"]["conditions"].as_array()?;
        conditions.iter().find(is_so).cloned()
    };
    let within = if reason == "Sound" { SOON } else { SETTLED };
    let what = format!("the Worker is {reason}");
    let worker = stage
        .region
        .worker_until(&what, within, instance, |it| find(it).is_some())
        .await
        .with_context(|| format!("the agent says:\n{}", site.log()))?;
    let condition = find(&worker).context("failed to find the condition again")?;
    Ok(condition["message"].as_str().unwrap_or_default().to_owned())
}

fn kube_dns() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system"},
        "spec": {"clusterIP": CLUSTER_DNS, "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}]},
    })
}

fn conflist(mtu: u32) -> String {
    json!({"cniVersion": "1.0.0", "name": "lab", "plugins": [{"type": "bridge", "mtu": mtu}]}).to_string()
}

/// As kube-proxy would lead there; whatever is asked, there is no such name.
fn answers_by_udp(namespace: &Namespace) -> anyhow::Result<()> {
    let mut command = std::process::Command::new("ip");
    command.args(["address", "add", &format!("{CLUSTER_DNS}/32"), "dev", "lo"]);
    namespace.output(command)?;
    let socket = namespace.run(|| UdpSocket::bind((CLUSTER_DNS, 53)))??;
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            packet[2] |= 0x80;
            packet[3] = 3;
            if socket.send_to(&packet[..length], from).is_err() {
                break;
            }
        }
    });
    Ok(())
}
