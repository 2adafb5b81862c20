//! Where the time between power on and a Ready node goes: measured on a machine whose image has the package, with cloud-init.

mod table;

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::Deserialize;

use self::table::{Moments, Step, table};
use crate::machine::Machine;
use crate::machine::image::Image;
use crate::region::{Equipment, Region};
use crate::story::{Newcomer, Teller};

const KEY: u8 = 2;
const CLOUD_INIT_WITHIN: Duration = Duration::from_mins(3);

#[derive(Deserialize)]
struct Timeline {
    started: Timestamp,
    steps: Vec<Step>,
}

/// Lets one machine become a node, from an image that knows its provisioner, and tells where the time went.
pub async fn measure(region: &Region, image: &Image, teller: &Teller) -> anyhow::Result<()> {
    let newcomer = Newcomer::launch(region, KEY).await?;
    newcomer.is_announced(region).await?;
    let power_on = Timestamp::now();
    let machine = region.boot(image, &newcomer.instance, Equipment::default())?;
    teller
        .watched_step("The machine becomes a node", newcomer.joins(region, &machine), || {
            machine.last_console_line()
        })
        .await?;
    let cloud_init = machine.exec_within(&["cloud-init", "status", "--wait"], CLOUD_INIT_WITHIN);
    teller.step("cloud-init comes to its end", cloud_init).await?;
    let moments = moments(&machine, power_on).await?;
    teller.say(format_args!("\n{}", table(&moments)));
    Ok(())
}

async fn moments(machine: &Machine, power_on: Timestamp) -> anyhow::Result<Moments> {
    let began = since_start(machine, Timestamp::now()).await?;
    let timeline = machine.run(&["dynk8s-agent", "status", "--json"]).await?;
    let timeline: Timeline = serde_json::from_str(&timeline).context("failed to understand `status --json`")?;
    let clock = machine.run(&["date", "+%s.%N"]).await?;
    let guest_began = since_start(machine, seconds(clock.trim())?).await?;
    Ok(Moments {
        firmware: positive(began.duration_since(power_on)),
        systemd: moment(machine, &[], "Userspace").await?,
        first_stages: cloud_init_first_stages(machine).await?,
        unit: moment(machine, &["dynk8s-agent.service"], "InactiveExit").await?,
        journey: positive(timeline.started.duration_since(guest_began)),
        cloud_init: moment(machine, &["cloud-final.service"], "ActiveEnter").await?,
        steps: timeline.steps,
    })
}

/// What cloud-init does before the units of a running system: the local stage, and the one of the network.
async fn cloud_init_first_stages(machine: &Machine) -> anyhow::Result<Duration> {
    let began = moment(machine, &["cloud-init-local.service"], "InactiveExit").await?;
    let ended = moment(machine, &["cloud-init-network.service"], "ActiveEnter").await?;
    Ok(ended.saturating_sub(began))
}

/// When the machine's kernel started, by a clock that shows `now`.
async fn since_start(machine: &Machine, now: Timestamp) -> anyhow::Result<Timestamp> {
    let uptime = machine.read("/proc/uptime").await?;
    let uptime: f64 = uptime.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(now - Duration::from_secs_f64(uptime))
}

fn seconds(text: &str) -> anyhow::Result<Timestamp> {
    let seconds: f64 = text.parse()?;
    Ok(Timestamp::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

fn positive(time: jiff::SignedDuration) -> Duration {
    time.try_into().unwrap_or_default()
}

/// One of systemd's own, or of a unit: since the start of the kernel.
async fn moment(machine: &Machine, unit: &[&str], name: &str) -> anyhow::Result<Duration> {
    let property = format!("--property={name}TimestampMonotonic");
    let words = [&["systemctl", "show", "--value", &property], unit].concat();
    let text = machine.run(&words).await?;
    let microseconds = text.trim().parse();
    let microseconds = microseconds.with_context(|| format!("failed to understand `{}`: {text}", words.join(" ")))?;
    Ok(Duration::from_micros(microseconds))
}
