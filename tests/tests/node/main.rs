//! What only a real system shows: machines that boot, join, fail, reboot and are taken apart, all in one region.
//!
//! A case is a folder: `mod.rs` has the fault and what must be true after it, and beside it lies what the machine gets, such as
//! `agent.toml` (lines for the agent's configuration; `include_str!` it into the machine's `Equipment`). To add a case, make its
//! folder and list it twice below. A boot with a join takes a minute or more: what can honestly share one is one case.

mod kube_proxy;
mod network_manager_alone;
mod network_manager_with_resolved;
mod networkd_with_resolved;
mod reboot;
mod resolvers;
mod stage;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use dynk8s_lab::host::containment;
use dynk8s_lab::prepare;
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

type Lab = Arc<Mutex<(Stage, Runtime)>>;

fn main() -> anyhow::Result<ExitCode> {
    let prepared = containment::enter_prepared(|| runtime()?.block_on(prepare::all()))?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::set(&prepared))?;
    let lab: Lab = Arc::new(Mutex::new((stage, runtime)));
    let mut arguments = Arguments::from_args();
    // An emulated machine takes all the processor it can get: cases take turns.
    arguments.test_threads = Some(1);
    let trials = vec![
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
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn case(lab: &Lab, name: &str, case: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static) -> Trial {
    let (lab, title) = (lab.clone(), format!("node-{name}"));
    Trial::test(name, move || {
        let mut lab = lab.lock().unwrap_or_else(PoisonError::into_inner);
        let (stage, runtime) = &mut *lab;
        let outcome = runtime.block_on(async {
            stage.region.mend().await?;
            let outcome = case(stage).await;
            stage.region.with_evidence(&title, outcome).await
        });
        outcome.map_err(|error| format!("{error:#}").into())
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
