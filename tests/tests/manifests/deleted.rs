//! What somebody deletes by mistake, a Worker or the whole namespace, with the real `reconcile`: no key is lost or given twice, and
//! nothing waits for a provisioner that is gone.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use dynk8s_lab::cluster::NAMESPACE;
use serde_json::{Value, json};

use crate::replicas::Replica;
use crate::stage::{Stage, Who, file};
use crate::watching::within;

const LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";
const KEY_TYPE: &str = "dynk8s.du5t1n.me/wireguard-key";
const BY_TYPE: &str = "--field-selector=type=dynk8s.du5t1n.me/wireguard-key";
/// Two that live through it all, and one that comes afterwards.
const OLD: [&str; 2] = ["i-0dd00000000000001", "i-0dd00000000000002"];
const NEW: &str = "i-0dd00000000000003";
/// The Lease of a replica that was killed runs out, and then it takes a look at what has no Worker.
const WITHIN: Duration = Duration::from_secs(40);
/// The namespace controller deletes one kind of object after the other, and looks again.
const NAMESPACE_WITHIN: Duration = Duration::from_secs(90);

pub(crate) fn deleted_things_do_no_harm(stage: &Stage) -> anyhow::Result<()> {
    for number in 1..=4 {
        stage.allowed(Who::Admin, &format!("create -f {}", file(&key(number))?))?;
    }
    let replica = Replica::start(stage, "deleted-one", 8084)?;
    OLD.iter().try_for_each(|it| announce(stage, it))?;
    let before = within(WITHIN, || assigned(stage, &OLD)).with_context(|| replica.last_lines())?;

    let uid = delete_worker(stage, OLD[0])?;
    within(WITHIN, || adopted(stage, OLD[0], &before, Some(&uid))).with_context(|| replica.last_lines())?;
    // Killed in the midst of whatever it does.
    drop(replica);
    let uid = delete_worker(stage, OLD[1])?;
    ensure!(holders(stage)? == before, "a key was freed");
    let replica = Replica::start(stage, "deleted-two", 8085)?;
    within(WITHIN, || adopted(stage, OLD[1], &before, Some(&uid))).with_context(|| replica.last_lines())?;
    ensure!(holders(stage)? == before, "a key was freed");
    drop(replica);

    let backup = delete_the_namespace(stage)?;
    stage.install_again()?;
    stage.allowed(Who::Admin, &format!("apply -f {backup}"))?;
    ensure!(holders(stage)? == before, "the labels are not what they were");
    let replica = Replica::start(stage, "deleted-three", 8086)?;
    let told = || replica.last_lines();
    OLD.iter()
        .try_for_each(|it| within(WITHIN, || adopted(stage, it, &before, None)))
        .with_context(told)?;
    life_goes_on(stage, &before).with_context(told)
}

/// A newcomer gets a key of nobody's, and what was adopted is taken back once it is gone.
fn life_goes_on(stage: &Stage, before: &BTreeMap<String, String>) -> anyhow::Result<()> {
    announce(stage, NEW)?;
    let all = [OLD[0], OLD[1], NEW];
    let after = within(WITHIN, || assigned(stage, &all))?;
    let kept = before.iter().filter(|(_, holder)| OLD.contains(&holder.as_str()));
    for (key, holder) in kept {
        ensure!(after.get(key) == Some(holder), "`{key}` was {holder}'s: {after:?}");
    }
    let gone = json!({"spec": {"wished": "gone"}}).to_string();
    stage.kubectl(&["patch", "worker", OLD[0], "-n", NAMESPACE, "--type=merge", "-p", &gone])?;
    within(WITHIN, || {
        let held = holders(stage)?;
        ensure!(!held.values().any(|it| it == OLD[0]), "{held:?}");
        let others = [OLD[1], NEW];
        ensure!(
            others.iter().all(|it| held.values().any(|holder| holder == it)),
            "{held:?}"
        );
        Ok(())
    })
}

/// Deletes it while no provisioner works, and returns a file with the keys as they were in it.
fn delete_the_namespace(stage: &Stage) -> anyhow::Result<String> {
    let mut backup = stage.json(&["get", "secrets", "-n", NAMESPACE, BY_TYPE])?;
    for secret in backup["items"].as_array_mut().context("no list")? {
        let metadata = secret["metadata"].as_object_mut().context("no metadata")?;
        metadata.retain(|name, _| ["name", "namespace", "labels"].contains(&name.as_str()));
    }
    stage.kubectl(&["delete", "namespace", NAMESPACE, "--wait=false"])?;
    let end = Instant::now() + NAMESPACE_WITHIN;
    loop {
        let left = stage.kubectl(&["get", "namespace", NAMESPACE, "--ignore-not-found", "-o", "json"])?;
        if left.is_empty() {
            return file(&backup);
        }
        if Instant::now() > end {
            bail!("the namespace is there after {NAMESPACE_WITHIN:?}: {left}");
        }
        sleep(Duration::from_millis(500));
    }
}

fn key(number: u8) -> Value {
    let document = format!(
        "[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA{number}EA=\nAddress = 10.98.1.{number}/32\n\
         DNS = 192.168.10.1\n[Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\
         Endpoint = vpn.onprem.example:51820\nAllowedIPs = 192.168.10.0/24\n"
    );
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": KEY_TYPE,
        "metadata": {"name": format!("deleted-{number}"), "namespace": NAMESPACE, "labels": {LABEL: ""}},
        "stringData": {"wireguard-config": document},
    })
}

/// What `serve` writes when AWS says that an instance runs.
fn announce(stage: &Stage, instance: &str) -> anyhow::Result<()> {
    let worker = json!({
        "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": instance, "namespace": NAMESPACE},
        "spec": {"instanceId": instance, "wished": "running"},
    });
    stage.allowed(Who::Admin, &format!("create -f {}", file(&worker)?))?;
    let announced = json!({"status": {"announced": {
        "state": "running",
        "account": "123456789012",
        "region": "eu-central-1",
        "time": jiff::Timestamp::now().to_string(),
    }}});
    let announced = announced.to_string();
    let words = [
        "patch",
        "worker",
        instance,
        "-n",
        NAMESPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
    ];
    stage.kubectl(&[&words[..], &[&announced]].concat())?;
    Ok(())
}

/// Which keys have an instance, and which. An error if one has two.
fn holders(stage: &Stage) -> anyhow::Result<BTreeMap<String, String>> {
    let keys = stage.json(&["get", "secrets", "-n", NAMESPACE, BY_TYPE])?;
    let holder = |it: &Value| {
        let holder = it["metadata"]["labels"][LABEL].as_str().filter(|it| !it.is_empty())?;
        Some((it["metadata"]["name"].as_str()?.to_owned(), holder.to_owned()))
    };
    let held: BTreeMap<String, String> = keys["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(holder)
        .collect();
    for one in held.values() {
        ensure!(
            held.values().filter(|it| *it == one).count() == 1,
            "{one} has two keys: {held:?}"
        );
    }
    Ok(held)
}

/// The holders, once each of these is one and its Worker knows.
fn assigned(stage: &Stage, instances: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
    let held = holders(stage)?;
    for instance in instances {
        let key = held.iter().find(|(_, it)| it == instance);
        let (key, _) = key.with_context(|| format!("{instance} has no key: {held:?}"))?;
        let worker = worker(stage, instance)?;
        ensure!(worker["status"]["key"] == key.as_str(), "{worker}");
    }
    Ok(held)
}

/// Whether there is a Worker again, another one, which has the same key.
fn adopted(stage: &Stage, instance: &str, before: &BTreeMap<String, String>, uid: Option<&str>) -> anyhow::Result<()> {
    let worker = worker(stage, instance)?;
    ensure!(worker["metadata"]["uid"].as_str() != uid, "it is not deleted: {worker}");
    let key = worker["status"]["key"].as_str().unwrap_or_default();
    ensure!(before.get(key).is_some_and(|it| it == instance), "{worker}");
    Ok(())
}

fn worker(stage: &Stage, instance: &str) -> anyhow::Result<Value> {
    stage.json(&["get", "worker", "-n", NAMESPACE, instance])
}

/// As an operator deletes it, who waits for the end of it; the UID that it had.
fn delete_worker(stage: &Stage, instance: &str) -> anyhow::Result<String> {
    let uid = worker(stage, instance)?["metadata"]["uid"]
        .as_str()
        .context("no UID")?
        .to_owned();
    stage.kubectl(&["delete", "worker", "-n", NAMESPACE, instance, "--timeout=10s"])?;
    Ok(uid)
}
