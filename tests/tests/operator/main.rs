//! The operator's verbs, run as he runs them, against a real API server with our manifests in it.

mod check;
mod keys;
mod stage;
mod workers;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use dynk8s_lab::host::{containment, packages};
use dynk8s_lab::{product, programs};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

type Lab = Arc<Mutex<(Stage, Runtime)>>;

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
    let lab: Lab = Arc::new(Mutex::new((stage, runtime)));
    let mut arguments = Arguments::from_args();
    // There is one cluster, and each trial breaks something in it.
    arguments.test_threads = Some(1);
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
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn trial(lab: &Lab, name: &str, work: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static) -> Trial {
    let lab = lab.clone();
    Trial::test(format!("operator-{name}"), move || {
        let mut lab = lab.lock().unwrap_or_else(PoisonError::into_inner);
        let (stage, runtime) = &mut *lab;
        let done = runtime.block_on(async {
            stage.empty_the_pool().await?;
            work(stage).await
        });
        done.map_err(|error| format!("{error:#}").into())
    })
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
