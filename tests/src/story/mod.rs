//! The main job, from the announcement of an instance to the reuse of its key: told by the demo, and proven by the test.

pub mod checks;
mod newcomer;
mod teller;

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

pub use self::newcomer::Newcomer;
pub use self::teller::Teller;
use crate::aws::cloud::Instance;
use crate::aws::eventbridge::InstanceState;
use crate::aws::sns::message::Message;
use crate::cluster::NAMESPACE;
use crate::machine::Machine;
use crate::machine::image::Image;
use crate::region::{Equipment, KEY_COOLDOWN, Region, until};

const KEY: u8 = 2;
const SOON: Duration = Duration::from_secs(20);
/// As long as its kubelet seems to live, an instance is not believed to be gone.
const LEASE_HOLDS: Duration = Duration::from_secs(40);

/// One instance comes, becomes a node and goes; the next one gets its key.
pub async fn tell(region: &Region, image: &Image, teller: &Teller) -> anyhow::Result<()> {
    let newcomer = Newcomer::launch(region, KEY).await?;
    let instance = &newcomer.instance;
    teller.say(format_args!(
        "\nThe cluster is full: the autoscaler launches {} in {}.",
        instance.id, instance.zone
    ));
    let announcement = teller
        .step(
            "SNS says `running`: the provisioner notes a Worker and gives it a key",
            newcomer.is_announced(region),
        )
        .await?;
    let (machine, secrets) = joined(region, image, &newcomer, teller).await?;
    teller
        .step(
            "Node, Worker, key, token, names and tunnel are looked at",
            checks::all(region, &machine, &newcomer, &secrets),
        )
        .await?;
    show(region, &machine, teller).await?;
    teller.say("\nThe autoscaler has had enough of it.");
    drop(machine);
    teller
        .step(
            "SNS says `terminated`: the Node goes, the key rests",
            gone(region, instance),
        )
        .await?;
    teller
        .step(
            "A late `running` does not raise the dead, and the next instance gets the key",
            reused(region, instance, &announcement),
        )
        .await?;
    tables(region, teller).await
}

/// Powers the machine on and waits for its Node; with the machine come the secrets that were seen on the way.
async fn joined(
    region: &Region,
    image: &Image,
    newcomer: &Newcomer,
    teller: &Teller,
) -> anyhow::Result<(Machine, Vec<String>)> {
    let power_on = async { region.power_on(image, &newcomer.instance, Equipment::default()) };
    let machine = teller.step("The power is on", power_on).await?;
    let secrets = teller
        .watched_step(
            "The machine boots, and the agent makes it a node",
            newcomer.joins(region, &machine),
            || machine.last_console_line(),
        )
        .await?;
    Ok((machine, secrets))
}

async fn gone(region: &Region, instance: &Instance) -> anyhow::Result<()> {
    region.aws.announce(instance, InstanceState::ShuttingDown).await?;
    region.aws.cloud.remove(&instance.id);
    region.aws.announce(instance, InstanceState::Terminated).await?;
    until("the Node is gone", LEASE_HOLDS + SOON, async || {
        Ok(region.get(&["node", &instance.id]).await?.is_none().then_some(()))
    })
    .await?;
    ensure!(
        region.key_owner(KEY).await? == instance.id,
        "the key was free before its cool-down was over"
    );
    until(
        "the key is free",
        SOON + Duration::from_secs(KEY_COOLDOWN),
        async || Ok(region.key_owner(KEY).await?.is_empty().then_some(())),
    )
    .await?;
    region
        .worker_until("the Worker is a tombstone", SOON, instance, is_tombstone)
        .await?;
    Ok(())
}

fn is_tombstone(worker: &Value) -> bool {
    worker["status"]["phase"] == "Gone" && worker["spec"]["wished"] == "gone"
}

async fn reused(region: &Region, before: &Instance, announcement: &Message) -> anyhow::Result<()> {
    region.aws.deliver(announcement).await?;
    let next = region.launch();
    region.aws.announce(&next, InstanceState::Running).await?;
    until("the next instance has the key", SOON, async || {
        Ok((region.key_owner(KEY).await? == next.id).then_some(()))
    })
    .await?;
    let worker = region.worker(before).await?.context("failed to find the tombstone")?;
    ensure!(is_tombstone(&worker), "a late `running` raised the dead: {worker}");
    Ok(())
}

async fn show(region: &Region, machine: &Machine, teller: &Teller) -> anyhow::Result<()> {
    let status = machine.exec(&["dynk8s-agent", "status"]).await?;
    teller.say(format_args!("\n$ dynk8s-agent status\n{}", status.stdout.trim_end()));
    tables(region, teller).await
}

async fn tables(region: &Region, teller: &Teller) -> anyhow::Result<()> {
    for words in [
        ["get", "nodes", "-o", "wide"].as_slice(),
        &["get", "workers", "--namespace", NAMESPACE],
    ] {
        let table = region.control_plane.kubectl(words).await?;
        let table = if table.is_empty() {
            "No resources found"
        } else {
            table.trim_end()
        };
        teller.say(format_args!("\n$ kubectl {}\n{table}", words.join(" ")));
    }
    Ok(())
}
