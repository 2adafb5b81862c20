//! The real `reconcile` with its own account: its rights are enough for the life of an instance.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_lab::cluster::NAMESPACE;
use dynk8s_lab::host::containment::SCRATCH;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::instance::{
    ADDRESS, INSTANCE, WITHIN, absent, admitted, claim, holder, node, patch, register, show_certificate, signed,
    startup_taint, until, until_within,
};
use crate::replicas::{self, Replica};
use crate::stage::{Stage, Who, file};
use crate::{certificates, metrics, watching};

/// A Lease holds for 40 s; the loop comes by at least every 30.
const LEASE_ENDS_WITHIN: Duration = Duration::from_secs(90);

/// Whoever is bound to this role has his certificates approved.
const AUTOMATIC: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";

fn it_refuses_automatic_approval(stage: &Stage, group: &str) -> anyhow::Result<()> {
    let binding = format!("create clusterrolebinding careless --clusterrole={AUTOMATIC} --group={group}");
    stage.allowed(Who::Admin, &binding)?;
    let words = [group, "careless", "any token could become any node", "remove"];
    let end = Instant::now() + WITHIN;
    let mut replica = Replica::start(stage, "careless", 8082)?;
    while replica.works() {
        ensure!(Instant::now() < end, "it works on; {}", replica.last_lines());
        sleep(Duration::from_millis(100));
    }
    stage.allowed(Who::Admin, "delete clusterrolebinding careless")?;
    let said = replica.said()?;
    replica.forget()?;
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
    let both = [
        Replica::start(stage, "reconcile-one", 8082)?,
        Replica::start(stage, "reconcile-two", 8083)?,
    ];
    live(stage).with_context(|| both.each_ref().map(Replica::last_lines).join("\n"))?;
    let said = both.iter().map(Replica::said).collect::<anyhow::Result<String>>()?;
    let refused = said
        .lines()
        .find(|it| it.contains("failed to") || it.contains("forbidden"));
    ensure!(refused.is_none(), "{refused:?}");
    watching::lines_name_their_instance(&said)?;
    watching::turns_were_told(stage)?;
    metrics::a_life_was_counted(stage, both.each_ref().map(|it| it.port))?;
    replicas::only_the_holder_acts(stage, both)
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
    let certificate = signed(stage, "first")?;
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

    it_is_kept_while_its_lease_changes(stage)?;
    until_within(stage, "Gone", LEASE_ENDS_WITHIN)?;
    ensure!(holder(stage)?.is_empty(), "the key is not free");
    absent(stage)?;
    the_dead_stay_dead(stage, &kubelets(&certificate, &kubelet_key)?)?;
    thief.got_nothing(&["stolen", "for-another", "after-the-node", "the-same-key"])
}

/// What the Lease says does not matter, neither that it ended long ago nor that it will last for long.
fn it_is_kept_while_its_lease_changes(stage: &Stage) -> anyhow::Result<()> {
    let lease = |renewed: String| {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": INSTANCE, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": INSTANCE, "renewTime": renewed},
        });
        stage.allowed(Who::Admin, &format!("apply -f {}", file(&lease)?))
    };
    lease("2000-01-01T00:00:00.000000Z".to_owned())?;
    patch(stage, &[], &json!({"spec": {"wished": "gone"}}))?;
    let end = Instant::now() + WITHIN;
    for second in 1.. {
        ensure!(Instant::now() < end, "the Worker is not Suspect");
        lease(format!("2000-01-01T00:00:{second:02}.000000Z"))?;
        // So that it is looked at.
        patch(
            stage,
            &[],
            &json!({"metadata": {"annotations": {"looked-at": second.to_string()}}}),
        )?;
        sleep(Duration::from_millis(500));
        let worker = stage.json(&["get", "worker", "-n", NAMESPACE, INSTANCE])?;
        if worker["status"]["phase"] == "Suspect" {
            break;
        }
    }
    ensure!(holder(stage)? == INSTANCE, "the key of a living instance is free");
    stage.kubectl(&["get", "node", INSTANCE])?;
    lease("2099-01-01T00:00:00.000000Z".to_owned()).map(drop)
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

/// A kubeconfig with the certificate that the instance's kubelet got.
fn kubelets(certificate: &[u8], key: &KeyPair) -> anyhow::Result<String> {
    let mut kubeconfig: Value = serde_json::from_slice(&std::fs::read(Path::new(SCRATCH).join("reconcile"))?)?;
    kubeconfig["users"][0]["user"] = json!({
        "client-certificate-data": BASE64_STANDARD.encode(certificate),
        "client-key-data": BASE64_STANDARD.encode(key.serialize_pem()),
    });
    file(&kubeconfig)
}

/// A certificate outlives its instance; what it raises keeps pods away, and goes.
fn the_dead_stay_dead(stage: &Stage, kubeconfig: &str) -> anyhow::Result<()> {
    let open = node(&json!([]));
    let create = |node: &Value| anyhow::Ok(format!("create -f {} --kubeconfig={kubeconfig}", file(node)?));
    stage.refused(Who::Admin, &create(&open)?, "must be registered with the taint")?;
    let mut anothers = node(&startup_taint());
    anothers["metadata"]["name"] = json!("i-0ddddddddddddddd0");
    stage.refused(Who::Admin, &create(&anothers)?, "forbidden")?;
    stage.allowed(Who::Admin, &create(&node(&startup_taint()))?)?;
    absent(stage)?;
    certificates::ask_to_serve(stage, "of-the-dead", INSTANCE, ADDRESS, &KeyPair::generate()?)?;
    stage.allowed(Who::Admin, &create(&node(&startup_taint()))?)?;
    absent(stage)?;
    certificates::undecided(stage, "of-the-dead")
}
