//! What happened on the way, and when. `status` prints it, the provisioner hears of it, and it holds no secret.

mod render;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dynk8s_api::progress::{Outcome, Progress, Step};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::host::files;

pub use render::{line, render};

/// Where the timeline of the journey under way, or of the last one, is kept.
pub const PATH: &str = "/run/dynk8s/timeline.json";

/// A journey as it is kept on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// When it began.
    pub started: Timestamp,
    /// The instance, once it is known.
    pub instance: Option<String>,
    /// How it stands, in the words of the provisioner's reports.
    #[serde(flatten)]
    pub progress: Progress,
}

/// Writes the timeline down as it grows.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    began: Instant,
    timeline: RefCell<Timeline>,
}

impl Timeline {
    /// Reads the timeline; `None` if no journey has begun since the machine booted.
    pub fn load(path: &Path) -> anyhow::Result<Option<Self>> {
        let Some(text) = files::read(path)? else {
            return Ok(None);
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| anyhow::Error::new(error).context(format!("failed to read `{}`", path.display())))
    }
}

impl Recorder {
    /// Begins a new timeline.
    pub(crate) fn begin(path: &Path, now: Timestamp) -> Self {
        let recorder = Self {
            path: path.to_owned(),
            began: Instant::now(),
            timeline: RefCell::new(Timeline {
                started: now,
                instance: None,
                progress: Progress {
                    outcome: Outcome::Running,
                    steps: Vec::new(),
                    error: None,
                    log: Vec::new(),
                    impaired: None,
                },
            }),
        };
        recorder.save();
        recorder
    }

    /// Notes which instance this is.
    pub(crate) fn instance(&self, id: &dynk8s_api::InstanceId) {
        self.timeline.borrow_mut().instance = Some(id.to_string());
        self.save();
    }

    /// A step begins.
    pub(crate) fn start(&self, name: &str) {
        let started_ms = self.elapsed();
        self.timeline.borrow_mut().progress.steps.push(Step {
            name: name.to_owned(),
            started_ms,
            elapsed_ms: None,
            attempts: 1,
            error: None,
        });
        self.save();
    }

    /// A try of the current step failed, and another follows.
    pub(crate) fn again(&self, error: &str) {
        if let Some(step) = self.timeline.borrow_mut().progress.steps.last_mut() {
            step.attempts += 1;
            step.error = Some(error.to_owned());
        }
        self.save();
    }

    /// Like [`Recorder::again`], for a step that says nothing else: each new reason is a line in the log.
    pub(crate) fn tries_again(&self, error: &str) {
        let known = self
            .timeline
            .borrow()
            .progress
            .steps
            .last()
            .is_some_and(|it| it.error.as_deref() == Some(error));
        if !known {
            tracing::info!("{error}; trying again");
        }
        self.again(error);
    }

    /// The current step is over. That it needed more than one try stays on record, what was wrong then does not.
    pub(crate) fn finish(&self, error: Option<&str>) {
        let now = self.elapsed();
        if let Some(step) = self.timeline.borrow_mut().progress.steps.last_mut() {
            step.elapsed_ms = Some(now.saturating_sub(step.started_ms));
            step.error = error.map(str::to_owned);
        }
        self.save();
    }

    /// Lines of a log that explain a failure, if one follows.
    pub(crate) fn log(&self, lines: Vec<String>) {
        self.timeline.borrow_mut().progress.log = lines;
    }

    /// What does not work around a node that is Ready.
    pub(crate) fn look_around(&self, impaired: Vec<String>) {
        self.timeline.borrow_mut().progress.impaired = Some(impaired);
        self.save();
    }

    /// The journey is over.
    pub(crate) fn end(&self, outcome: Outcome, error: Option<String>) {
        {
            let progress = &mut self.timeline.borrow_mut().progress;
            progress.outcome = outcome;
            progress.error = error;
            if outcome != Outcome::Failed {
                progress.log.clear();
            }
        }
        self.save();
    }

    /// The report for the provisioner.
    pub(crate) fn report(&self) -> Progress {
        self.timeline.borrow().progress.clone().bounded()
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    // A timeline that cannot be written must not keep a node from joining.
    fn save(&self) {
        let mut timeline = self.timeline.borrow().clone();
        timeline.progress = timeline.progress.bounded();
        let written = serde_json::to_vec_pretty(&timeline)
            .map_err(anyhow::Error::from)
            .and_then(|json| files::write(&self.path, &json, files::PUBLIC));
        if let Err(error) = written {
            tracing::warn!("{error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use dynk8s_api::progress::Outcome;
    use jiff::Timestamp;

    use super::{Recorder, Timeline};

    #[test]
    fn is_on_disk_at_every_moment_and_readable_by_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.json");
        assert_eq!(Timeline::load(&path).unwrap(), None);

        let recorder = Recorder::begin(&path, Timestamp::UNIX_EPOCH);
        recorder.start("facts");
        recorder.again("no answer");
        let step = Timeline::load(&path).unwrap().unwrap().progress.steps.remove(0);
        assert_eq!((step.attempts, step.error.as_deref()), (2, Some("no answer")));

        recorder.finish(None);
        recorder.start("claim");
        recorder.finish(Some("refused"));
        recorder.end(Outcome::Failed, Some("failed to claim".to_owned()));
        let timeline = Timeline::load(&path).unwrap().unwrap();
        assert_eq!(timeline.progress.steps[0].error, None);
        assert_eq!(timeline.progress.steps[1].error.as_deref(), Some("refused"));
        assert_eq!(timeline.progress.outcome, Outcome::Failed);
        recorder.look_around(vec!["cluster DNS is silent".to_owned()]);
        let impaired = Timeline::load(&path).unwrap().unwrap().progress.impaired;
        assert_eq!(impaired, Some(vec!["cluster DNS is silent".to_owned()]));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn names_the_file_that_is_no_timeline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.json");
        std::fs::write(&path, "{").unwrap();
        assert!(Timeline::load(&path).unwrap_err().to_string().contains("timeline.json"));
    }
}
