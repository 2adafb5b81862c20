//! The timeline as a person reads it.

use dynk8s_api::progress::{Outcome, Step};

use super::Timeline;

/// A line for the whole, one for each step, and one for all that does not work around the node.
pub fn render(timeline: &Timeline) -> String {
    let instance = timeline.instance.as_deref().unwrap_or("this machine");
    let progress = &timeline.progress;
    let standing = match progress.outcome {
        Outcome::Running => "is on its way",
        Outcome::Ready => "is a node",
        Outcome::Failed => "failed to become a node",
    };
    let head = format!("{instance} {standing} (began {:.0})\n", timeline.started);
    let steps: String = progress.steps.iter().map(line).collect();
    let error = progress
        .error
        .as_ref()
        .map(|it| format!("\n{it}\n"))
        .unwrap_or_default();
    let impaired = progress.impaired.as_deref().unwrap_or_default();
    let impaired: String = impaired.iter().flat_map(|it| ["  ! ", it, "\n"]).collect();
    format!("{head}{steps}{impaired}{error}")
}

/// A step: how it stands, when it began, how long it took, how often it was tried.
pub fn line(step: &Step) -> String {
    let started = seconds(step.started_ms);
    let (mark, elapsed) = match (step.elapsed_ms, &step.error) {
        (None, _) => ("…", "so far".to_owned()),
        (Some(elapsed), None) => ("✓", seconds(elapsed)),
        (Some(elapsed), Some(_)) => ("✗", seconds(elapsed)),
    };
    let tries = if step.attempts > 1 {
        format!("  {} tries", step.attempts)
    } else {
        String::new()
    };
    let error = step.error.as_ref().map(|it| format!("  {it}")).unwrap_or_default();
    format!("  {mark} {:<7}{started:>9}{elapsed:>9}{tries}{error}\n", step.name)
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn seconds(milliseconds: u64) -> String {
    format!("{:.1}s", milliseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use dynk8s_api::progress::{Outcome, Progress, Step};
    use jiff::Timestamp;

    use super::{Timeline, render};

    fn step(name: &str, elapsed_ms: Option<u64>, attempts: u32, error: Option<&str>) -> Step {
        Step {
            name: name.to_owned(),
            started_ms: 1500,
            elapsed_ms,
            attempts,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn shows_what_is_done_what_failed_and_what_runs() {
        let timeline = Timeline {
            started: Timestamp::UNIX_EPOCH,
            instance: Some("i-0123abcd".to_owned()),
            progress: Progress {
                outcome: Outcome::Failed,
                steps: vec![
                    step("facts", Some(40), 1, None),
                    step("claim", Some(12_000), 3, Some("no answer")),
                    step("join", None, 1, None),
                ],
                error: Some("failed to claim".to_owned()),
                log: Vec::new(),
                impaired: Some(vec!["cluster DNS is silent".to_owned()]),
            },
        };
        let expected = "\
i-0123abcd failed to become a node (began 1970-01-01T00:00:00Z)
  ✓ facts       1.5s     0.0s
  ✗ claim       1.5s    12.0s  3 tries  no answer
  … join        1.5s   so far
  ! cluster DNS is silent

failed to claim
";
        assert_eq!(render(&timeline), expected);
    }
}
