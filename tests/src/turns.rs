//! Trials that take turns: what they happen in is dear to set up, and each of them changes it.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Runtime;

/// A stage that one trial has at a time.
#[derive(Debug)]
pub struct Turns<S>(Arc<Mutex<(S, Runtime)>>);

impl<S: Send + 'static> Turns<S> {
    /// `runtime` is the one that the stage was set with.
    pub fn on(stage: S, runtime: Runtime) -> Self {
        Self(Arc::new(Mutex::new((stage, runtime))))
    }

    pub fn trial(
        &self,
        name: impl Into<String>,
        work: impl AsyncFnOnce(&mut S) -> anyhow::Result<()> + Send + 'static,
    ) -> Trial {
        let turns = Arc::clone(&self.0);
        Trial::test(name, move || {
            let mut turn = turns.lock().unwrap_or_else(PoisonError::into_inner);
            let (stage, runtime) = &mut *turn;
            let outcome = runtime.block_on(work(stage));
            outcome.map_err(|error| format!("{error:#}").into())
        })
    }
}

/// Runs those that the command line asks for, one after the other.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}
