//! The real `reconcile` with its own account: its rights are enough for the life of an instance.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::process::Process;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::instance::{
    ADDRESS, INSTANCE, WITHIN, absent, admitted, claim, holder, node, patch, register, show_certificate, signed,
    startup_taint, until,
};
use crate::stage::{Stage, Who, file};
use crate::{certificates, watching};

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

/// Whoever is bound to this role has his certificates approved.
const AUTOMATIC: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";

fn it_refuses_automatic_approval(stage: &Stage, group: &str) -> anyhow::Result<()> {
    let binding = format!("create clusterrolebinding careless --clusterrole={AUTOMATIC} --group={group}");
    stage.allowed(Who::Admin, &binding)?;
    let words = [group, "careless", "any token could become any node", "remove"];
    let end = Instant::now() + WITHIN;
    let log = Path::new(SCRATCH).join("careless.log");
    let mut process = start(stage, 8082, &log)?;
    while process.check().is_ok() {
        ensure!(Instant::now() < end, "it works on; {}", process.last_lines(20));
        sleep(Duration::from_millis(100));
    }
    stage.allowed(Who::Admin, "delete clusterrolebinding careless")?;
    let said = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    let missing = words.iter().find(|it| !said.contains(**it));
    ensure!(missing.is_none(), "no `{missing:?}` in `{said}`");
    Ok(())
}

pub(crate) fn its_rights_are_enough(stage: &Stage) -> anyhow::Result<()> {
    for group in [
        "system:bootstrappers",
        "system:bootstrappers:dynk8s:node",
        "system:authenticated",
    ] {
        it_refuses_automatic_approval(stage, group)?;
    }
    // As in a roll-out: two at once get in each other's way, and nothing else.
    let logs = ["one.log", "two.log"].map(|it| Path::new(SCRATCH).join(it));
    let (one, two) = (start(stage, 8082, &logs[0])?, start(stage, 8083, &logs[1])?);
    live(stage).with_context(|| format!("{}\n{}", one.last_lines(30), two.last_lines(30)))?;
    let said = logs
        .iter()
        .map(std::fs::read_to_string)
        .collect::<Result<String, _>>()?;
    let refused = said
        .lines()
        .find(|it| it.contains("failed to") || it.contains("forbidden"));
    ensure!(refused.is_none(), "{refused:?}");
    watching::lines_name_their_instance(&said)?;
    watching::turns_were_told(stage)
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

    let thief = Thief {
        stage,
        asker: format!("--as=system:bootstrap:{token} --as-group=system:bootstrappers:dynk8s:node"),
    };
    let own = format!("system:node:{INSTANCE}");
    thief.asks("stolen", &own, &KeyPair::generate()?)?;
    thief.asks("for-another", "system:node:i-0ddddddddddddddd0", &kubelet_key)?;
    certificates::ask(stage, "first", &own, &kubelet_key, &thief.asker)?;
    signed(stage, "first")?;
    thief.got_nothing(&["stolen", "for-another"])?;

    let _kubelet = show_certificate(stage)?;
    register(stage)?;
    until(stage, "Ready")?;
    admitted(stage)?;
    let left = stage.kubectl(&["get", "secret", "-n", "kube-system", &secret, "--ignore-not-found"])?;
    ensure!(left.is_empty(), "{left}");

    // Whoever took the Node away has not made the token worth anything.
    stage.allowed(Who::Admin, &format!("delete node {INSTANCE}"))?;
    until(stage, "NotReady")?;
    thief.asks("after-the-node", &own, &KeyPair::generate()?)?;
    thief.asks("the-same-key", &own, &kubelet_key)?;
    register(stage)?;
    until(stage, "Ready")?;
    admitted(stage)?;
    thief.got_nothing(&["stolen", "for-another", "after-the-node", "the-same-key"])?;

    patch(stage, &[], &json!({"spec": {"wished": "gone"}}))?;
    until(stage, "Gone")?;
    ensure!(holder(stage)?.is_empty(), "the key is not free");
    absent(stage)?;
    the_dead_stay_dead(stage)?;
    thief.got_nothing(&["stolen", "for-another", "after-the-node", "the-same-key"])
}

/// Somebody who has the token, and perhaps the key.
struct Thief<'a> {
    stage: &'a Stage,
    asker: String,
}

impl Thief<'_> {
    fn asks(&self, request: &str, user: &str, key: &KeyPair) -> anyhow::Result<()> {
        certificates::ask(self.stage, request, user, key, &self.asker)
    }

    fn got_nothing(&self, requests: &[&str]) -> anyhow::Result<()> {
        requests
            .iter()
            .try_for_each(|it| certificates::undecided(self.stage, it))
    }
}

/// A certificate outlives its instance; what it raises keeps pods away, and goes.
fn the_dead_stay_dead(stage: &Stage) -> anyhow::Result<()> {
    let open = node(&json!([]));
    let create = |node: &Value| anyhow::Ok(format!("create -f {} {}", file(node)?, certificates::as_node(INSTANCE)));
    stage.refused(Who::Admin, &create(&open)?, "must be registered with the taint")?;
    stage.allowed(Who::Admin, &create(&node(&startup_taint()))?)?;
    absent(stage)?;
    certificates::ask_to_serve(stage, "of-the-dead", INSTANCE, ADDRESS, &KeyPair::generate()?)?;
    stage.allowed(Who::Admin, &create(&node(&startup_taint()))?)?;
    absent(stage)?;
    certificates::undecided(stage, "of-the-dead")
}
