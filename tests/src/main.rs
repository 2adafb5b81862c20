//! `dynk8s-lab`: the lab as a command.

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use dynk8s_lab::boot_time;
use dynk8s_lab::debian::{self, Debian};
use dynk8s_lab::host::containment;
use dynk8s_lab::idle;
use dynk8s_lab::prepare::{self, Prepared};
use dynk8s_lab::product;
use dynk8s_lab::region::Region;
use dynk8s_lab::story::{self, Teller};
use tokio::runtime::Builder;

/// A region of AWS and a Kubernetes cluster on this machine, to see dynk8s at work.
///
/// It runs in namespaces of its own and leaves nothing behind, except in ~/.cache/dynk8s and in the build folder.
#[derive(Debug, Parser)]
#[command(name = "dynk8s-lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lets a machine with the agent's package become a node, and says where the time went
    BootTime,
    /// Powers on a machine and shows how it becomes a node, step by step
    Demo,
    /// Lets an agent guard a node to which nothing happens, and says what that costs
    Idle {
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1440))]
        minutes: u32,
    },
    /// Builds and fetches all that the demo and the tests need, and ends
    Prepare,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "this is where the command's errors go")]
fn complain(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Prepare => block_on(async {
            prepare::all().await?;
            Debian::ensure(&debian::JUDGE).await
        })
        .map(drop),
        Command::Demo => {
            let prepared = containment::enter_prepared(|| block_on(prepare::all()))?;
            block_on(demo(&prepared))
        }
        Command::BootTime => {
            let (prepared, package) = containment::enter_prepared(|| {
                block_on(async { anyhow::Ok((prepare::all().await?, product::package().await?)) })
            })?;
            block_on(async {
                let region = Box::pin(Region::open(&prepared.programs, &prepared.product)).await?;
                let image = region.packaged(&prepared.image, &package, true).await?;
                boot_time::measure(&region, &image, &Teller::aloud()).await
            })
        }
        Command::Idle { minutes } => {
            let prepared = containment::enter_prepared(|| block_on(prepare::all()))?;
            block_on(async {
                let region = Box::pin(Region::open(&prepared.programs, &prepared.product)).await?;
                idle::measure(&region, minutes, &Teller::aloud()).await
            })
        }
    }
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start a runtime")?
        .block_on(work)
}

async fn demo(prepared: &Prepared) -> anyhow::Result<()> {
    let teller = Teller::aloud();
    teller.say("On the premises there is a cluster; in AWS there is nothing yet.");
    let opening = Box::pin(Region::open(&prepared.programs, &prepared.product));
    let region = teller
        .step(
            "Control plane, WireGuard gateway, DNS and provisioner are up, SNS is subscribed",
            opening,
        )
        .await?;
    let told = Box::pin(story::tell(&region, &prepared.image, &teller)).await;
    region.with_evidence("demo", told).await?;
    teller.say("\nThat was dynk8s. Nothing of it is left on this machine but a cache.");
    Ok(())
}
