//! Completions and man pages, made from the command line's own definition.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Arguments;

/// The completions of a shell.
pub(super) fn completions(shell: Shell) -> String {
    let (mut command, mut text) = (Arguments::command(), Vec::new());
    clap_complete::generate(shell, &mut command, "dynk8s-agent", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A man page for the program and for each of its commands.
pub(super) fn manual(folder: &Path) -> anyhow::Result<()> {
    clap_mangen::generate_to(Arguments::command(), folder)
        .with_context(|| format!("failed to write man pages into `{}`", folder.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        super::manual(folder.path()).unwrap();
        for page in [
            "dynk8s-agent.1",
            "dynk8s-agent-run.1",
            "dynk8s-agent-plan.1",
            "dynk8s-agent-config-check.1",
            "dynk8s-agent-prepare-image.1",
        ] {
            let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
            assert!(text.contains(".SH"), "{page}");
        }
    }
}
