//! Instances as the cluster meets them: what `serve` writes of them, what their kubelets do, and what operators do to them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::api::{Api, NODES, SECRETS, TOKENS, WORKERS};
use dynk8s_lab::cluster::NAMESPACE;

/// More than there are ever instances, even if some are in quarantine.
pub(crate) const KEYS: u8 = 20;
const MOST: usize = 12;
const MOST_CONTESTED: usize = 4;
/// As it is configured.
const COOLDOWN: Duration = Duration::from_secs(3);
pub(crate) const LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";

pub(crate) struct Instances {
    pub(crate) api: Api,
    pub(crate) all: BTreeMap<String, Instance>,
    pub(crate) counts: BTreeMap<&'static str, u32>,
    /// Those whose end AWS has not told yet.
    late: BTreeSet<String>,
}

/// The truth about an instance.
#[derive(Debug, Default)]
pub(crate) struct Instance {
    pub(crate) died: Option<Instant>,
    pub(crate) contested: bool,
    /// Somebody deleted its Worker.
    pub(crate) disturbed: bool,
    pub(crate) stopped: bool,
    /// The keys that it was handed, and the token that it was handed last.
    pub(crate) keys: BTreeSet<String>,
    token: Option<String>,
}

impl Instances {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            api: Api::new()?,
            all: BTreeMap::new(),
            counts: BTreeMap::new(),
            late: BTreeSet::new(),
        })
    }

    pub(crate) async fn fill_the_pool(&self) -> anyhow::Result<()> {
        for number in 1..=KEYS {
            let document = format!(
                "[Interface]\nPrivateKey = {}\nAddress = {}/32\nDNS = 192.168.10.1\n\
                 [Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\
                 Endpoint = vpn.onprem.example:51820\nAllowedIPs = 192.168.10.0/24\n",
                BASE64_STANDARD.encode([number; 32]),
                address(&key_name(number))
            );
            let key = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "dynk8s.du5t1n.me/wireguard-key",
                "metadata": {"name": key_name(number), "labels": {LABEL: ""}},
                "stringData": {"wireguard-config": document},
            });
            self.api.create(SECRETS, &key, None).await?;
        }
        Ok(())
    }

    /// One thing of many.
    pub(crate) async fn happen(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        let living: Vec<String> = self.living().map(str::to_owned).collect();
        if living.is_empty() || (living.len() < MOST && random.random_bool(0.15)) {
            return self.launch(random).await;
        }
        let instance = &living[random.random_range(0..living.len())];
        match random.random_range(0..100) {
            0..25 => self.claim(instance, false).await,
            25..50 => self.take(instance).await,
            50..75 => self.kubelet(instance, random.random_bool(0.6)).await,
            75..80 => self.claim(instance, true).await,
            80..84 => self.stop_or_start(instance).await,
            84..91 => self.terminate(instance, random.random_bool(0.2)).await,
            91..94 => self.deliver().await,
            94..96 => self.delete_worker(instance).await,
            96..97 => self.contest(instance).await,
            _ => self.delete_node(instance).await,
        }
    }

    pub(crate) fn living(&self) -> impl Iterator<Item = &str> {
        let living = self.all.iter().filter(|(_, it)| it.died.is_none());
        living.map(|(name, _)| name.as_str())
    }

    /// In the end half of them die, and AWS has told of all that did.
    pub(crate) async fn end(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        let living: Vec<String> = self.living().map(str::to_owned).collect();
        for instance in living {
            if random.random_bool(0.5) {
                self.terminate(&instance, false).await?;
            }
        }
        while !self.late.is_empty() {
            self.deliver().await?;
        }
        Ok(())
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn of(&mut self, instance: &str) -> &mut Instance {
        self.all.entry(instance.to_owned()).or_default()
    }

    async fn launch(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        let name = format!("i-{:017x}", random.random::<u64>());
        self.count("launches");
        self.of(&name);
        self.announce(&name, "running").await
    }

    async fn announce(&self, instance: &str, state: &str) -> anyhow::Result<()> {
        let announced = json!({
            "state": state, "account": "123456789012", "region": "eu-central-1", "time": Timestamp::now().to_string(),
        });
        self.record(instance, &json!({"announced": announced})).await
    }

    /// Writes what `serve` knows, into a new Worker if there is none.
    async fn record(&self, instance: &str, status: &Value) -> anyhow::Result<()> {
        let path = format!("{WORKERS}/{instance}/status");
        let change = json!({"status": status});
        if !self.api.merge(&path, &change, None).await? {
            self.raise(instance).await?;
            self.api.merge(&path, &change, None).await?;
        }
        Ok(())
    }

    async fn raise(&self, instance: &str) -> anyhow::Result<()> {
        let worker = json!({
            "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
            "kind": "Worker",
            "metadata": {"name": instance, "namespace": NAMESPACE},
            "spec": {"instanceId": instance, "wished": "running"},
        });
        self.api.create(WORKERS, &worker, None).await
    }

    async fn status(&self, instance: &str) -> anyhow::Result<Value> {
        let worker = self.api.get(WORKERS, instance).await?;
        Ok(worker.map_or(Value::Null, |it| it["status"].clone()))
    }

    /// It proves itself, for the first time or to begin again.
    async fn claim(&mut self, instance: &str, resets: bool) -> anyhow::Result<()> {
        let status = self.status(instance).await?;
        let known = self.of(instance);
        let token = status["token"]["generation"].as_u64();
        if known.stopped || known.contested || !status["joined"].is_null() || (resets && token.is_none()) {
            return Ok(());
        }
        let time = Timestamp::now().to_string();
        let claim = json!({
            "key": "not looked at", "kubeletKey": BASE64_STANDARD.encode([7; 32]), "kubeletVersion": "v1.37.2", "time": time,
            "reset": token.filter(|_| resets),
        });
        let attested = json!({"account": "123456789012", "region": "eu-central-1", "time": time});
        self.count(if resets { "resets" } else { "claims" });
        self.record(instance, &json!({"attested": attested, "claim": claim}))
            .await
    }

    /// It gets what is there for it, if `serve` would hand it out.
    async fn take(&mut self, instance: &str) -> anyhow::Result<()> {
        let status = self.status(instance).await?;
        let known = self.of(instance);
        let withheld = known.stopped || known.contested || !status["joined"].is_null() || status["claim"].is_null();
        let (Some(key), Some(token), false) = (status["key"].as_str(), status["token"]["id"].as_str(), withheld) else {
            return Ok(());
        };
        let expires: Timestamp = status["token"]["expires"].as_str().context("no time")?.parse()?;
        let secret = self.api.get(SECRETS, key).await?.context("a key is gone")?;
        if secret["metadata"]["labels"][LABEL] != instance || expires < Timestamp::now() {
            return Ok(());
        }
        let users = self
            .all
            .iter()
            .filter(|(name, it)| *name != instance && it.keys.contains(key));
        for (name, user) in users {
            let rested = user.died.is_some_and(|it| it.elapsed() >= COOLDOWN);
            ensure!(rested, "`{key}` is handed to {instance}, and {name} uses it: {user:?}");
        }
        self.count("handed out");
        let known = self.of(instance);
        known.keys.insert(key.to_owned());
        known.token = Some(token.to_owned());
        Ok(())
    }

    /// A kubelet with a valid token comes up, or tells how it is.
    async fn kubelet(&mut self, instance: &str, ready: bool) -> anyhow::Result<()> {
        let known = self.of(instance);
        let (Some(token), Some(key), false) = (known.token.clone(), known.keys.last().cloned(), known.stopped) else {
            return Ok(());
        };
        if self.api.get(NODES, instance).await?.is_none() {
            let token = format!("bootstrap-token-{token}");
            if self.api.get(TOKENS, &token).await?.is_none() {
                return Ok(());
            }
            let node = json!({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": instance},
                "spec": {
                    "providerID": format!("aws:///eu-central-1a/{instance}"),
                    "taints": [{"key": "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s", "effect": "NoSchedule"}],
                },
            });
            self.api.create(NODES, &node, Some(instance)).await?;
            self.count("nodes");
        }
        let now = format!("{:.0}", Timestamp::now());
        let condition = json!({
            "type": "Ready", "status": if ready { "True" } else { "False" }, "reason": "Told", "message": "",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        let addresses = json!([{"type": "InternalIP", "address": address(&key)}]);
        let status = json!({"status": {"addresses": addresses, "conditions": [condition]}});
        let path = format!("{NODES}/{instance}/status");
        self.api.merge(&path, &status, Some(instance)).await?;
        Ok(())
    }

    /// An operator's hand slips, or he means it: the kubelet raises the Node again.
    async fn delete_node(&mut self, instance: &str) -> anyhow::Result<()> {
        self.count("deleted nodes");
        self.api.delete(NODES, instance).await
    }

    async fn stop_or_start(&mut self, instance: &str) -> anyhow::Result<()> {
        let known = self.of(instance);
        known.stopped = !known.stopped;
        let state = if known.stopped { "stopped" } else { "running" };
        self.count("stops and starts");
        self.announce(instance, state).await
    }

    async fn terminate(&mut self, instance: &str, late: bool) -> anyhow::Result<()> {
        self.of(instance).died = Some(Instant::now());
        self.count("terminations");
        self.late.insert(instance.to_owned());
        if late { Ok(()) } else { self.bury(instance).await }
    }

    /// A message that was late arrives.
    async fn deliver(&mut self) -> anyhow::Result<()> {
        match self.late.first().cloned() {
            Some(instance) => self.bury(&instance).await,
            None => Ok(()),
        }
    }

    async fn bury(&mut self, instance: &str) -> anyhow::Result<()> {
        self.late.remove(instance);
        let path = format!("{WORKERS}/{instance}");
        let gone = json!({"spec": {"wished": "gone"}});
        if !self.api.merge(&path, &gone, None).await? {
            self.raise(instance).await?;
            self.api.merge(&path, &gone, None).await?;
        }
        self.announce(instance, "terminated").await
    }

    /// An operator's hand slips.
    async fn delete_worker(&mut self, instance: &str) -> anyhow::Result<()> {
        let known = self.of(instance);
        if known.contested {
            return Ok(());
        }
        known.disturbed = true;
        self.count("deleted Workers");
        self.api.delete(WORKERS, instance).await
    }

    /// Somebody else proves with another key that he is it.
    async fn contest(&mut self, instance: &str) -> anyhow::Result<()> {
        let status = self.status(instance).await?;
        let contested = self.all.values().filter(|it| it.contested).count();
        if status["claim"].is_null() || !status["joined"].is_null() || contested == MOST_CONTESTED {
            return Ok(());
        }
        self.of(instance).contested = true;
        self.count("contests");
        let time = Timestamp::now().to_string();
        self.record(instance, &json!({"contested": time})).await
    }
}

fn key_name(number: u8) -> String {
    format!("key-{number:03}")
}

/// The tunnel address of a key.
fn address(key: &str) -> String {
    let number = key.trim_start_matches("key-").trim_start_matches('0');
    format!("10.98.0.{number}")
}
