//! A step of the journey: a name, a line in the log, a line for `systemctl status`, a record.

use std::time::Instant;

use anyhow::Context as _;
use tracing::info;

use crate::host::service;
use crate::timeline::Recorder;

/// Runs a step. `done` says what it brought; the step's name stands at the head of its error.
pub(crate) async fn step<T>(
    recorder: &Recorder,
    name: &'static str,
    work: impl Future<Output = anyhow::Result<T>>,
    done: impl Fn(&T) -> String,
) -> anyhow::Result<T> {
    service::status(&format!("{name} is under way"));
    recorder.start(name);
    let began = Instant::now();
    let outcome = tokio::select! {
        outcome = work => outcome,
        never = service::keep_starting() => match never {},
    };
    match outcome {
        Ok(value) => {
            recorder.finish(None);
            let text = format!("{name}: {} ({:.1}s)", done(&value), began.elapsed().as_secs_f64());
            service::status(&text);
            info!("{text}");
            Ok(value)
        }
        Err(error) => {
            recorder.finish(Some(&format!("{error:#}")));
            Err(error).context(name)
        }
    }
}
