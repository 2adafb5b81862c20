//! What only a real system shows: machines that boot, join, fail, reboot and are taken apart, all in one region.
//!
//! A case is a folder: `mod.rs` has the fault and what must be true after it, and beside it lie the files that the machine gets
//! (`include_str!` them into its `Equipment`). To add a case, make its folder and list it twice below. A boot with a join takes a minute or more: what can honestly share one is one case.

mod crashes;
mod kube_proxy;
mod network_manager_alone;
mod network_manager_with_resolved;
mod networkd_with_resolved;
mod reboot;
mod resolvers;
mod stage;
mod taken_apart;

use std::process::ExitCode;

use dynk8s_lab::host::containment;
use dynk8s_lab::turns::{self, Turns};
use dynk8s_lab::{prepare, product};
use libtest_mimic::Trial;
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

fn main() -> anyhow::Result<ExitCode> {
    let (prepared, provisioner_image) = containment::enter_prepared(|| {
        runtime()?.block_on(async { anyhow::Ok((prepare::all().await?, product::image().await?)) })
    })?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::set(&prepared, provisioner_image))?;
    // An emulated machine takes all the processor it can get: cases take turns.
    let lab = Turns::on(stage, runtime);
    let trials = vec![
        case(&lab, "crashes", crashes::case),
        case(&lab, "kube_proxy", kube_proxy::case),
        case(&lab, "network_manager_alone", network_manager_alone::case),
        case(
            &lab,
            "network_manager_with_resolved",
            network_manager_with_resolved::case,
        ),
        case(&lab, "networkd_with_resolved", networkd_with_resolved::case),
        case(&lab, "reboot", reboot::case),
    ];
    Ok(turns::run(trials))
}

fn case(
    lab: &Turns<Stage>,
    name: &str,
    case: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let title = format!("node-{name}");
    lab.trial(name, async move |stage: &mut Stage| {
        stage.region.mend().await?;
        let outcome = case(stage).await;
        stage.region.with_evidence(&title, outcome).await
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
