//! Tells what happens while it happens: one line a step with its time, and on a terminal a live line for the step under way.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

const EVERY: Duration = Duration::from_millis(500);
/// Longer live lines would wrap, and then they could not be overwritten.
const WIDTH: usize = 100;

/// The voice of the demo; a test keeps it silent.
#[derive(Debug)]
pub struct Teller {
    aloud: bool,
    live: bool,
}

impl Teller {
    pub fn aloud() -> Self {
        Self {
            aloud: true,
            live: stdout().is_terminal(),
        }
    }

    pub fn silent() -> Self {
        Self {
            aloud: false,
            live: false,
        }
    }

    /// A sentence, or a table, of its own.
    pub fn say(&self, text: impl Display) {
        if self.aloud {
            print(format_args!("{text}\n"));
        }
    }

    /// Does one step of the story.
    pub async fn step<T>(&self, what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        self.watched_step(what, work, String::new).await
    }

    /// Does one step, and shows on the live line the newest of what there is to see.
    pub async fn watched_step<T>(
        &self,
        what: &str,
        work: impl Future<Output = anyhow::Result<T>>,
        glimpse: impl Fn() -> String,
    ) -> anyhow::Result<T> {
        let started = Instant::now();
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        tokio::pin!(work);
        let outcome = loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                _ = ticks.tick(), if self.live => {
                    let line = format!("{:>6} s  {what} … {}", started.elapsed().as_secs(), glimpse());
                    print(format_args!("\r\u{1b}[K{}", line.chars().take(WIDTH).collect::<String>()));
                }
            }
        };
        if self.live {
            print("\r\u{1b}[K");
        }
        let verdict = if outcome.is_ok() { "" } else { ": FAILED" };
        self.say(format_args!(
            "{:>6.1} s  {what}{verdict}",
            started.elapsed().as_secs_f64()
        ));
        outcome
    }
}

fn print(text: impl Display) {
    let mut out = stdout().lock();
    // Whoever closed the pipe does not want to hear the rest.
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}
