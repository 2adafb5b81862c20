//! The simulation's churn against a real API server: two real replicas are killed and paused while instances come and go.

mod api;
mod instances;
mod invariants;
mod replicas;
mod stage;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use dynk8s_lab::host::containment;
use dynk8s_lab::product;
use dynk8s_lab::programs::{self, Programs};
use libtest_mimic::{Arguments, Trial};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::runtime::Builder;
use tokio::time::sleep;

use self::instances::Instances;
use self::replicas::Replicas;
use self::stage::Stage;

/// How long the churn goes on, in seconds, and a variable that says otherwise.
const SECONDS: u64 = 300;
const SECONDS_VARIABLE: &str = "DYNK8S_CHURN_SECONDS";
/// A seed to be tried again: what happens is the same, though not exactly when.
const SEED_VARIABLE: &str = "DYNK8S_CHURN_SEED";
const CHECKS_EVERY: Duration = Duration::from_secs(2);
/// In the end: longer than a killed replica's Lease, a cool-down and the second look at a token that was taken back.
const RESTS_WITHIN: Duration = Duration::from_secs(210);

fn main() -> anyhow::Result<ExitCode> {
    // Before the containment, because building them needs the network.
    let (programs, provisioner) = containment::enter_prepared(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { anyhow::Ok((programs::ensure().await?, product::build_provisioner().await?)) })
    })?;
    let trial = Trial::test("nothing_is_held_twice_or_lost_while_replicas_are_killed", move || {
        churn(&programs, &provisioner).map_err(|error| format!("{error:#}").into())
    });
    Ok(libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code())
}

#[expect(
    clippy::print_stderr,
    reason = "whoever reads of a failure needs the seed, of a success the numbers"
)]
fn churn(programs: &Programs, provisioner: &Path) -> anyhow::Result<()> {
    let seconds = from_environment(SECONDS_VARIABLE)?.unwrap_or(SECONDS);
    let seed = from_environment(SEED_VARIABLE)?.unwrap_or_else(|| rand::rng().random());
    eprintln!("to see it again: {SEED_VARIABLE}={seed}");
    let stage = Stage::set(programs, provisioner)?;
    let random = StdRng::seed_from_u64(seed);
    let replicas = Replicas::new(&stage);
    let counts = stage
        .machine
        .wait_for(run(random, replicas, Duration::from_secs(seconds)))??;
    eprintln!("seed {seed}, {seconds} s: {counts}");
    Ok(())
}

async fn run(mut random: StdRng, mut replicas: Replicas, lasts: Duration) -> anyhow::Result<String> {
    let mut instances = Instances::new()?;
    instances.api.wait_until_ready().await?;
    instances.fill_the_pool().await?;
    let end = Instant::now() + lasts;
    let mut checked = Instant::now();
    while Instant::now() < end {
        replicas.turn(&mut random)?;
        instances.happen(&mut random).await?;
        if checked.elapsed() > CHECKS_EVERY {
            instances.check().await?;
            checked = Instant::now();
        }
        sleep(Duration::from_millis(random.random_range(0..60))).await;
    }
    replicas.all_work()?;
    instances.end(&mut random).await?;
    let end = Instant::now() + RESTS_WITHIN;
    loop {
        replicas.check()?;
        instances.check().await?;
        match instances.rest().await {
            Ok(()) => break,
            Err(_) if Instant::now() < end => sleep(CHECKS_EVERY).await,
            Err(error) => return Err(error.context(format!("not at rest after {RESTS_WITHIN:?}"))),
        }
    }
    replicas.have_not_panicked()?;
    Ok(format!("{:?} {:?}", instances.counts, replicas.counts))
}

fn from_environment(name: &str) -> anyhow::Result<Option<u64>> {
    let Ok(value) = std::env::var(name) else {
        return Ok(None);
    };
    let value = value
        .parse()
        .with_context(|| format!("`{name}` is no number: `{value}`"))?;
    Ok(Some(value))
}
