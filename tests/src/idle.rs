//! What an agent costs that guards a node to which nothing happens: measured, so that the number can be written down.

use std::time::Duration;

use tokio::time::sleep;

use crate::aws::eventbridge::InstanceState;
use crate::region::{Cost, Region, Site, until};
use crate::story::Teller;

const JOINS_WITHIN: Duration = Duration::from_mins(1);
/// The journey's last words are no part of the quiet.
const SETTLE: Duration = Duration::from_secs(15);

/// Lets an agent guard a node for so long, with kubeadm's stand-in and without a machine.
pub async fn measure(region: &Region, minutes: u32, teller: &Teller) -> anyhow::Result<()> {
    region.add_key(2).await?;
    let instance = region.launch();
    region.aws.announce(&instance, InstanceState::Running).await?;
    let mut site = region.site(&instance, "")?;
    site.start()?;
    teller.step("The agent joins", is_ready(&site)).await?;
    let quiet = async {
        sleep(SETTLE).await;
        let before = Cost::of(site.process()?)?;
        sleep(Duration::from_mins(1) * minutes).await;
        Ok(Cost::of(site.process()?)? - before)
    };
    let cost = teller.step("It guards the node, and nothing happens", quiet).await?;
    teller.say(format_args!("{}", table(cost, minutes)));
    Ok(())
}

async fn is_ready(site: &Site) -> anyhow::Result<()> {
    let said = async || Ok(site.log().contains("` is Ready (").then_some(()));
    until("the agent says that its Node is Ready", JOINS_WITHIN, said).await
}

fn table(cost: Cost, minutes: u32) -> String {
    let Cost {
        wake_ups,
        processor,
        resident,
        own,
    } = cost;
    let each = f64::from(u32::try_from(wake_ups).unwrap_or(u32::MAX)) / f64::from(minutes);
    format!(
        "\nin {minutes} minutes: {wake_ups} wake-ups ({each:.1} a minute), {} ms of a processor; {resident} KiB resident, {own} KiB of them \
         its own memory",
        processor.as_millis()
    )
}
