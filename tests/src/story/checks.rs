//! What must be true once an instance is a node.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Newcomer;
use crate::aws::cloud::Instance;
use crate::cluster::NAMESPACE;
use crate::host::containment::SCRATCH;
use crate::machine::Machine;
use crate::region::{Region, key_name};
use crate::topology::addresses::{PREMISES_GATEWAY, REGION};
use crate::topology::gateway::Tunnel;

/// Looks at the Node, the Worker, the key, the tokens, the names and the tunnel. `token_secrets` were seen on the way.
pub async fn all(
    region: &Region,
    machine: &Machine,
    newcomer: &Newcomer,
    token_secrets: &[String],
) -> anyhow::Result<()> {
    let Newcomer { instance, key, tunnel } = newcomer;
    node(region, instance, tunnel).await?;
    worker(region, instance, *key).await?;
    kubelet(region, instance).await?;
    ensure!(
        region.key_owner(*key).await? == instance.id,
        "the key's label does not name the instance"
    );
    ensure!(region.tokens().await?.is_empty(), "a bootstrap token is left");
    let copy = region.get(&["secret", &instance.id, "--namespace", NAMESPACE]).await?;
    ensure!(copy.is_none(), "the copy of the token is left");
    names(machine).await?;
    let age = region.topology.premises.gateway.handshake_age(&tunnel.keys.public)?;
    ensure!(
        age.is_some_and(|age| age < Duration::from_mins(3)),
        "the last handshake is too old: {age:?}"
    );
    no_secret_shows(machine, tunnel, token_secrets).await
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
}

/// Whether a Node is Ready, and the cluster itself keeps pods away no longer: its own taints go a moment later.
pub fn is_settled(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut keys = taints.iter().filter_map(|it| it["key"].as_str());
    is_ready(node) && !keys.any(|it| it.starts_with("node.kubernetes.io/"))
}

/// Whether a Worker's condition says that pods may come.
pub(super) fn is_admission(condition: &Value) -> bool {
    condition["type"] == "Admitted" && condition["status"] == "True"
}

async fn node(region: &Region, instance: &Instance, tunnel: &Tunnel) -> anyhow::Result<()> {
    let node = region
        .get(&["node", &instance.id])
        .await?
        .context("failed to find the Node")?;
    let expect = |what: &str, found: &Value, wanted: Value| {
        ensure!(*found == wanted, "the Node's {what} is {found}, and should be {wanted}");
        Ok(())
    };
    expect("name", &node["metadata"]["name"], json!(instance.id))?;
    let provider_id = format!("aws:///{}/{}", instance.zone, instance.id);
    expect("provider id", &node["spec"]["providerID"], json!(provider_id))?;
    let addresses = node["status"]["addresses"]
        .as_array()
        .context("the Node has no addresses")?;
    let internal = addresses.iter().find(|it| it["type"] == "InternalIP");
    let internal = internal.map_or(&Value::Null, |it| &it["address"]);
    expect("InternalIP", internal, json!(tunnel.address))?;
    let labels = &node["metadata"]["labels"];
    expect("label of its group", &labels["example.org/pool"], json!("burst"))?;
    for (label, wanted) in [
        ("node.kubernetes.io/instance-type", instance.kind.as_str()),
        ("topology.kubernetes.io/region", REGION),
        ("topology.kubernetes.io/zone", &instance.zone),
    ] {
        expect(label, &labels[label], json!(wanted))?;
    }
    expect("role", &labels["node-role.kubernetes.io/burst"], json!(""))?;
    expect(
        "taints",
        &node["spec"]["taints"],
        json!([{"key": "example.org/burst", "value": "yes", "effect": "NoSchedule"}]),
    )?;
    ensure!(is_ready(&node), "the Node is not Ready");
    Ok(())
}

async fn worker(region: &Region, instance: &Instance, key: u8) -> anyhow::Result<()> {
    let worker = region.worker(instance).await?.context("failed to find the Worker")?;
    let status = &worker["status"];
    for (field, wanted) in [("phase", json!("Ready")), ("key", json!(key_name(key)))] {
        ensure!(status[field] == wanted, "the Worker's {field} is {}", status[field]);
    }
    ensure!(
        status["node"]["name"] == instance.id,
        "the Worker does not name its Node: {status}"
    );
    Ok(())
}

/// The API server reaches the kubelet through the tunnel, and believes it: so logs and exec work.
async fn kubelet(region: &Region, instance: &Instance) -> anyhow::Result<()> {
    let path = format!("/api/v1/nodes/{}/proxy/healthz", instance.id);
    let answer = region.control_plane.kubectl(&["get", "--raw", &path]).await;
    let answer = answer.context("failed to reach the kubelet through the API server")?;
    ensure!(answer.trim() == "ok", "the kubelet says `{answer}`");
    Ok(())
}

/// Everything on the machine that names resolvers names the one on the premises and no other.
pub async fn names(machine: &Machine) -> anyhow::Result<()> {
    let kubelet = machine.read("/var/lib/kubelet/config.yaml").await?;
    let kubelet = kubelet
        .lines()
        .find_map(|line| line.strip_prefix("resolvConf: "))
        .context("failed to find resolvConf in the kubelet's configuration")?
        .to_owned();
    let mut paths = vec!["/etc/resolv.conf", kubelet.as_str()];
    let resolved = machine.exec(&["systemctl", "is-active", "systemd-resolved"]).await?;
    if resolved.code == 0 {
        paths.push("/run/systemd/resolve/resolv.conf");
    }
    for path in paths {
        let servers = resolvers(machine, path).await?;
        ensure!(servers == [PREMISES_GATEWAY.to_string()], "`{path}` lists {servers:?}");
    }
    Ok(())
}

/// The resolvers that a file on the machine lists.
pub async fn resolvers(machine: &Machine, path: &str) -> anyhow::Result<Vec<String>> {
    Ok(nameservers(&machine.read(path).await?))
}

/// The resolvers that the text of a resolver file lists.
pub fn nameservers(text: &str) -> Vec<String> {
    let servers = text.lines().filter_map(|line| line.strip_prefix("nameserver "));
    servers.map(ToOwned::to_owned).collect()
}

/// Neither the tunnel's private key nor a token's secret is in any log.
async fn no_secret_shows(machine: &Machine, tunnel: &Tunnel, token_secrets: &[String]) -> anyhow::Result<()> {
    let secrets = [token_secrets, std::slice::from_ref(&tunnel.keys.private)].concat();
    // With the fields of each entry, not its message alone.
    let journal = machine.journal(&["--output=verbose"]).await?;
    ensure!(
        journal.contains("dynk8s-agent"),
        "the machine's journal does not know the agent:\n{}",
        journal.chars().take(500).collect::<String>()
    );
    let mut places = vec![("the machine's journal".to_owned(), journal)];
    places.push(("the console".to_owned(), machine.console_tail(usize::MAX)));
    for half in ["serve", "reconcile"] {
        let log = Path::new(SCRATCH).join(format!("provisioner-{half}.log"));
        let text = std::fs::read_to_string(&log).with_context(|| format!("failed to read `{}`", log.display()))?;
        places.push((format!("the log of `{half}`"), text));
    }
    for (place, text) in places {
        ensure!(
            !secrets.iter().any(|it| text.contains(it.as_str())),
            "{place} shows a secret"
        );
    }
    Ok(())
}
