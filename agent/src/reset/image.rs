//! What else must not be in an image: state, identity and logs of the machine that it is made from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::host::{command, files, service};
use crate::state;

const MACHINE_ID: &str = "/etc/machine-id";

/// A copy that old hosts have; where it is a link to the other one, it stays.
const DBUS_MACHINE_ID: &str = "/var/lib/dbus/machine-id";

/// What systemd and NetworkManager draw once for each machine, and make again where it is missing.
const DRAWN: &[&str] = &[
    "/var/lib/systemd/random-seed",
    "/var/lib/systemd/credential.secret",
    "/var/lib/NetworkManager/secret_key",
];

/// The journal on the disk, and what pods and containers said: all of it goes, the folders stay.
const LOG_FOLDERS: &[&str] = &["/var/log/journal", "/var/log/pods", "/var/log/containers"];

/// What a syslog daemon writes, if there is one: it keeps its files open, so they are emptied.
const LOG_FILES: &[&str] = &["/var/log/syslog", "/var/log/messages", "/var/log/daemon.log"];

const PATIENCE: Duration = Duration::from_mins(1);

/// Lets the next boot be the first one for cloud-init.
pub(super) async fn clean_cloud_init() -> anyhow::Result<Vec<String>> {
    match run("cloud-init", &["clean", "--logs"]).await {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        outcome => outcome.map(|()| vec!["cleaned, with its logs".to_owned()]),
    }
}

/// Empties the logs, after journald was told to leave those on the disk alone until the next boot.
pub(super) async fn remove_logs() -> anyhow::Result<Vec<String>> {
    if service::booted_with_systemd() {
        run("journalctl", &["--relinquish-var"]).await?;
    }
    let mut done = Vec::new();
    for folder in LOG_FOLDERS {
        if empty_folder(Path::new(folder))? {
            done.push(format!("removed what was in `{folder}`"));
        }
    }
    for file in LOG_FILES {
        if files::empty(Path::new(file))? {
            done.push(format!("emptied `{file}`"));
        }
    }
    Ok(done)
}

/// Removes the keys and notes of every instance that this disk was.
pub(super) fn remove_state() -> anyhow::Result<Vec<String>> {
    files::remove(Path::new(state::BASE))?;
    Ok(vec![format!("removed `{}`", state::BASE)])
}

/// Removes what would make all machines of the image one and the same.
pub(super) fn remove_identity() -> anyhow::Result<Vec<String>> {
    let mut done = empty_machine_id()?;
    for path in DRAWN.iter().map(Path::new).filter(|it| it.exists()) {
        files::remove(path)?;
        done.push(format!("removed `{}`", path.display()));
    }
    Ok(done)
}

/// Empties the machine's id: systemd gives the next boot a new one. An absent file would make that boot the first one, which
/// also presets all units again.
fn empty_machine_id() -> anyhow::Result<Vec<String>> {
    let mut done = Vec::new();
    if files::empty(Path::new(MACHINE_ID))? {
        done.push(format!("emptied `{MACHINE_ID}`"));
    }
    let copy = Path::new(DBUS_MACHINE_ID);
    if copy.is_file() && !copy.is_symlink() {
        files::remove(copy)?;
        done.push(format!("removed `{DBUS_MACHINE_ID}`"));
    }
    Ok(done)
}

async fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let ended = command::run(program, arguments, PATIENCE, |_| {}).await?;
    if !ended.success {
        bail!("`{program} {}` says: {}", arguments.join(" "), ended.lines.join(" "));
    }
    Ok(())
}

fn is_missing(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(command::Error::Missing { .. }))
}

/// Removes what is in a folder; tells whether there was anything.
fn empty_folder(folder: &Path) -> anyhow::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        entries => entries.with_context(|| format!("failed to list `{}`", folder.display()))?,
    };
    let entries: Vec<PathBuf> = entries.flatten().map(|it| it.path()).collect();
    entries.iter().try_for_each(|it| files::remove(it))?;
    Ok(!entries.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{empty_folder, is_missing, run};

    #[test]
    fn a_folder_stays_without_what_was_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        std::fs::create_dir_all(journal.join("0123")).unwrap();
        std::fs::write(journal.join("0123/system.journal"), "x").unwrap();
        std::os::unix::fs::symlink("/nonexistent", journal.join("link")).unwrap();
        assert!(empty_folder(&journal).unwrap());
        assert!(journal.is_dir() && !empty_folder(&journal).unwrap());
        assert!(!empty_folder(Path::new("/nonexistent")).unwrap());
    }

    #[tokio::test]
    async fn tells_a_program_that_fails_from_one_that_is_not_there() {
        let error = run("sh", &["-c", "echo no; exit 1"]).await.unwrap_err();
        assert!(error.to_string().contains("says: no") && !is_missing(&error), "{error}");
        assert!(is_missing(&run("no-such-program", &[]).await.unwrap_err()));
    }
}
