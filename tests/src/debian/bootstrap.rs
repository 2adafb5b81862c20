//! Making a Debian: mmdebstrap installs the packages, and what it says is kept until it has succeeded.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

use super::sources::words;
use crate::host::process::last_lines;
use crate::host::progress::narrate;

/// What nobody reads here.
const EXCLUDED: [&str; 3] = ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*"];

/// How every recipe begins.
pub(crate) fn recipe() -> Vec<String> {
    let excluded = EXCLUDED.map(|it| format!("--dpkgopt=path-exclude={it}"));
    excluded.into_iter().collect()
}

/// Makes what a recipe says, at `target` below `workshop`. `what` is told to whoever waits for it.
pub(crate) async fn bootstrap(what: &str, recipe: &[String], target: &str, workshop: &Path) -> anyhow::Result<()> {
    let log = workshop.join("log");
    let messages = File::create(&log).with_context(|| format!("failed to create `{}`", log.display()))?;
    let mut command = Command::new("mmdebstrap");
    command
        .args(words(recipe, target).await)
        .current_dir(workshop)
        .stdin(Stdio::null())
        .stdout(messages.try_clone()?)
        .stderr(messages)
        .kill_on_drop(true);
    let status = narrate(&format!("building {what}"), command.status())
        .await
        .context("failed to start `mmdebstrap`: is it installed?")?;
    if !status.success() {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!(
            "failed to build {what} ({status}), `mmdebstrap` ends with:\n{}",
            last_lines(&said, 20)
        );
    }
    Ok(())
}
