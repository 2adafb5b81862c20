//! The verbs that only look.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use dynk8s_api::progress::Outcome;
use serde::Serialize;

use super::{FAILED, done, print, runtime};
use crate::config::Settings;
use crate::doctor::{self, Verdict};
use crate::preview;
use crate::timeline::{self, Timeline};

/// How far the journey is.
pub(super) fn status(path: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let Some(timeline) = Timeline::load(path)? else {
        anyhow::bail!("no journey has begun since this machine booted; `systemctl status dynk8s-agent` tells why");
    };
    if json {
        print_json(&timeline)?;
    } else {
        print(&timeline::render(&timeline))?;
    }
    Ok(code(timeline.progress.outcome == Outcome::Ready))
}

/// What is wrong.
pub(super) fn doctor(configuration: &Path) -> anyhow::Result<ExitCode> {
    let checks = runtime()?.block_on(doctor::examine(configuration));
    print(&doctor::render(&checks))?;
    Ok(code(checks.iter().all(|it| it.verdict != Verdict::Wrong)))
}

/// What a journey would do.
pub(super) fn plan(settings: &Settings, json: bool) -> anyhow::Result<ExitCode> {
    let outline = runtime()?.block_on(preview::preview(settings));
    if json {
        print_json(&outline)?;
    } else {
        print(&preview::render(&outline))?;
    }
    Ok(code(outline.arrives()))
}

fn code(is_right: bool) -> ExitCode {
    if is_right { done() } else { ExitCode::from(FAILED) }
}

fn print_json(it: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(it).context("failed to write JSON")?;
    print(&format!("{text}\n"))
}
