//! `bootstrap`: waits for the journey, shows how far it is, and ends as it ends.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use dynk8s_api::progress::{Outcome, Step};
use jiff::Timestamp;
use tokio::time::sleep;

use crate::bootstrap;
use crate::config::Settings;
use crate::host::lock::Held;
use crate::host::service;
use crate::timeline::{self, Timeline};

const POLL: Duration = Duration::from_millis(200);

/// How long a unit may need to begin its journey.
const BEGINNING: Duration = Duration::from_secs(30);

/// Starts the unit if it does not run yet, and follows its journey. Where systemd does not run, the journey is this
/// process's own, unless another one is under way.
pub(super) async fn follow(settings: &Settings, patience: Duration) -> anyhow::Result<()> {
    let path = Path::new(timeline::PATH);
    let before = Timeline::load(path)?;
    let mut follower = Follower::new(before.as_ref(), patience);
    if service::booted_with_systemd() {
        service::start_unit().await?;
        return follower.follow(path).await;
    }
    tokio::select! {
        ended = bootstrap::run(settings) => match ended {
            Err(error) if error.downcast_ref::<Held>().is_some() => follower.follow(path).await,
            ended => ended,
        },
        seen = follower.follow(path) => seen,
    }
}

struct Follower {
    /// A failed journey of an earlier start, which is not ours.
    old: Option<Timestamp>,
    began: Instant,
    patience: Duration,
    told: usize,
    terminal: bool,
}

impl Follower {
    fn new(before: Option<&Timeline>, patience: Duration) -> Self {
        let failed = before.filter(|it| it.progress.outcome == Outcome::Failed);
        Self {
            old: failed.map(|it| it.started),
            began: Instant::now(),
            patience,
            told: 0,
            terminal: std::io::stdout().is_terminal(),
        }
    }

    async fn follow(&mut self, path: &Path) -> anyhow::Result<()> {
        loop {
            match Timeline::load(path)?.filter(|it| Some(it.started) != self.old) {
                Some(timeline) => {
                    self.tell(&timeline)?;
                    if let Some(ended) = outcome(&timeline) {
                        return ended;
                    }
                }
                None if self.began.elapsed() > BEGINNING => {
                    bail!("the journey did not begin; `systemctl status dynk8s-agent` tells why")
                }
                None => {}
            }
            if self.began.elapsed() > self.patience {
                bail!(
                    "the journey is not over after {}s; it goes on, and `dynk8s-agent status` tells how far it is",
                    self.patience.as_secs()
                );
            }
            sleep(POLL).await;
        }
    }

    /// Each step once, when it is over; on a terminal also the one that runs.
    fn tell(&mut self, timeline: &Timeline) -> anyhow::Result<()> {
        let steps = &timeline.progress.steps;
        // A unit that was started again begins anew.
        self.told = self.told.min(steps.len());
        let mut text = String::new();
        if self.terminal {
            text.push_str("\r\x1b[K");
        }
        for step in steps.iter().skip(self.told).take_while(|it| it.elapsed_ms.is_some()) {
            text.push_str(&timeline::line(step));
            self.told += 1;
        }
        if let Some(running) = steps.get(self.told).filter(|_| self.terminal) {
            text.push_str(timeline::line(&so_far(running, timeline)).trim_end());
        }
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .context("failed to print")
    }
}

/// The running step, with the time that it has taken until now.
fn so_far(step: &Step, timeline: &Timeline) -> Step {
    let since = Timestamp::now().duration_since(timeline.started).as_millis();
    let mut step = step.clone();
    if let Ok(since) = u64::try_from(since) {
        step.name = format!("{} ({}s)", step.name, since.saturating_sub(step.started_ms) / 1000);
    }
    step
}

fn outcome(timeline: &Timeline) -> Option<anyhow::Result<()>> {
    match timeline.progress.outcome {
        Outcome::Running => None,
        Outcome::Ready => Some(Ok(())),
        Outcome::Failed => {
            let error = timeline.progress.error.as_deref().unwrap_or("the journey failed");
            Some(Err(anyhow::Error::msg(error.to_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use dynk8s_api::progress::Outcome;
    use jiff::Timestamp;
    use tempfile::TempDir;

    use super::{Follower, Timeline};
    use crate::timeline::Recorder;

    fn begun(at: i64) -> (TempDir, PathBuf, Recorder) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.json");
        let recorder = Recorder::begin(&path, Timestamp::from_second(at).unwrap());
        (folder, path, recorder)
    }

    #[tokio::test]
    async fn ends_as_the_journey_ends() {
        let (_folder, path, recorder) = begun(1);
        recorder.start("facts");
        recorder.finish(None);
        recorder.end(Outcome::Ready, None);
        let patience = Duration::from_secs(5);
        Follower::new(None, patience).follow(&path).await.unwrap();

        recorder.end(Outcome::Failed, Some("claim: refused".to_owned()));
        let error = Follower::new(None, patience).follow(&path).await.unwrap_err();
        assert_eq!(error.to_string(), "claim: refused");
    }

    #[tokio::test]
    async fn an_earlier_failure_is_not_this_journeys() {
        let (_folder, path, recorder) = begun(1);
        recorder.end(Outcome::Failed, Some("long ago".to_owned()));
        let before = Timeline::load(&path).unwrap();
        let mut follower = Follower::new(before.as_ref(), Duration::from_millis(1));
        let error = follower.follow(&path).await.unwrap_err().to_string();
        assert!(error.contains("not over") && !error.contains("long ago"), "{error}");

        let again = Recorder::begin(&path, Timestamp::from_second(2).unwrap());
        again.end(Outcome::Ready, None);
        follower.follow(&path).await.unwrap();
    }

    #[tokio::test]
    async fn has_an_end() {
        let (_folder, path, _recorder) = begun(1);
        let mut follower = Follower::new(None, Duration::from_millis(1));
        let error = follower.follow(&path).await.unwrap_err().to_string();
        assert!(error.contains("dynk8s-agent status"), "{error}");
    }
}
