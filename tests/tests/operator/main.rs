//! The operator's verbs, run as he runs them, against a real API server with our manifests in it.

mod check;
mod keys;
mod stage;
mod workers;

use std::process::ExitCode;

use dynk8s_lab::host::{containment, packages};
use dynk8s_lab::turns::{self, Turns};
use dynk8s_lab::{product, programs};
use libtest_mimic::Trial;
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

fn main() -> anyhow::Result<ExitCode> {
    // Before the containment, because fetching and building need the network.
    let (programs, product) = containment::enter_prepared(|| {
        runtime()?.block_on(async {
            packages::ensure_host_packages().await?;
            anyhow::Ok((programs::ensure().await?, product::build().await?))
        })
    })?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::set(&programs, &product))?;
    // There is one cluster, and each trial breaks something in it.
    let lab = Turns::on(stage, runtime);
    let trials = vec![
        trial(&lab, "files_become_keys", keys::files_become_keys),
        trial(&lab, "bad_files_stay_out", keys::bad_files_stay_out),
        trial(
            &lab,
            "generated_keys_have_their_peers",
            keys::generated_keys_have_their_peers,
        ),
        trial(&lab, "retired_keys_leave", keys::retired_keys_leave),
        trial(
            &lab,
            "workers_are_listed_and_released",
            workers::are_listed_and_released,
        ),
        trial(&lab, "wrong_words_are_code_2", workers::wrong_words_are_code_2),
        trial(&lab, "check_is_green", check::is_green),
        trial(&lab, "check_sees_each_fault", check::sees_each_fault),
        trial(&lab, "check_sees_a_bad_configuration", check::sees_a_bad_configuration),
    ];
    Ok(turns::run(trials))
}

fn trial(
    lab: &Turns<Stage>,
    name: &str,
    work: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    lab.trial(format!("operator-{name}"), async move |stage: &mut Stage| {
        stage.empty_the_pool().await?;
        work(stage).await
    })
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
