//! kubeadm, run and listened to. Its output goes to the log line by line, without the token.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use dynk8s_api::Secret;
use tracing::{debug, info};

use crate::host::command::{self, Ended};

const SHORT: Duration = Duration::from_secs(20);
const RESET: Duration = Duration::from_mins(2);
const JOURNAL_TRIES: usize = 3;

/// The version of kubeadm, and by the way that packages are made, of the kubelet: `v1.37.2`.
pub(crate) async fn version() -> anyhow::Result<String> {
    let failed = "failed to tell the version of kubeadm (are the packages kubeadm and kubelet installed?)";
    let ended = command::run("kubeadm", &["version", "-o", "short"], SHORT, |_| {})
        .await
        .context(failed)?;
    let version = ended.lines.iter().find(|it| is_version(it));
    match version {
        Some(version) if ended.success => Ok(version.clone()),
        _ => Err(anyhow!("it says `{}`", ended.lines.join(" "))).context(failed),
    }
}

/// `v1.37.2`, with whatever a distribution adds; warnings are lines of their own.
fn is_version(line: &str) -> bool {
    let numbers: Vec<&str> = line.strip_prefix('v').unwrap_or_default().splitn(3, '.').collect();
    let starts_with_digit = |it: &&str| it.starts_with(|it: char| it.is_ascii_digit());
    numbers.len() == 3 && numbers.iter().all(starts_with_digit) && !line.contains(char::is_whitespace)
}

/// Runs the join.
pub(super) async fn join(configuration: &str, token: &Secret, deadline: Duration) -> Result<Ended, command::Error> {
    let arguments = ["join", "--config", configuration];
    let mut ended = command::run("kubeadm", &arguments, deadline, |line| {
        info!("kubeadm: {}", redacted(line, token));
    })
    .await;
    if let Ok(Ended { lines, .. }) | Err(command::Error::Deadline { lines, .. }) = &mut ended {
        for line in lines {
            *line = redacted(line, token);
        }
    }
    ended
}

/// Takes back what a join did; what it cannot take back, it says.
pub(super) async fn reset(cri_socket: &str) -> Result<Ended, command::Error> {
    let arguments = ["reset", "-f", "--cri-socket", cri_socket];
    command::run("kubeadm", &arguments, RESET, |line| debug!("kubeadm: {line}")).await
}

/// The last lines of the kubelet's own log.
pub(super) async fn kubelet_log() -> Vec<String> {
    let arguments = ["--unit=kubelet", "--lines=40", "--output=cat", "--no-pager"];
    let mut lines = Vec::new();
    for _ in 0..JOURNAL_TRIES {
        match command::run("journalctl", &arguments, SHORT, |_| {}).await {
            Ok(ended) => lines = ended.lines,
            Err(error) => debug!("{error}"),
        }
        if !lines.iter().any(|it| leaves_out_a_file(it)) {
            break;
        }
    }
    lines.retain(|it| !leaves_out_a_file(it));
    lines
}

/// A file that journald makes longer at that very moment looks truncated to `journalctl`, which says so, leaves it out and ends well.
fn leaves_out_a_file(line: &str) -> bool {
    line.starts_with("Journal file ") && line.ends_with(", ignoring file.")
}

/// Whether the kubelet starts at the next boot.
pub(crate) async fn kubelet_is_enabled() -> Result<bool, command::Error> {
    systemctl("is-enabled").await
}

/// Lets the kubelet start at the next boot, which kubeadm leaves to others.
pub(super) async fn enable_kubelet() -> Result<bool, command::Error> {
    systemctl("enable").await
}

/// Takes [`enable_kubelet`] back.
pub(super) async fn disable_kubelet() -> Result<bool, command::Error> {
    systemctl("disable").await
}

async fn systemctl(verb: &str) -> Result<bool, command::Error> {
    let arguments = [verb, "kubelet.service"];
    let ended = command::run("systemctl", &arguments, SHORT, |line| debug!("systemctl: {line}")).await?;
    Ok(ended.success)
}

/// Lets a kubelet that runs read its configuration again. It may wait for this unit, so this does not wait for it.
pub(super) async fn restart_kubelet() -> Result<(), command::Error> {
    let arguments = ["try-restart", "--no-block", "kubelet.service"];
    command::run("systemctl", &arguments, SHORT, |line| debug!("systemctl: {line}")).await?;
    Ok(())
}

fn redacted(line: &str, token: &Secret) -> String {
    let secret = token
        .expose()
        .split_once('.')
        .map_or(token.expose(), |(_, secret)| secret);
    if secret.is_empty() {
        return line.to_owned();
    }
    line.replace(secret, "[secret]")
}

#[cfg(test)]
mod tests {
    use dynk8s_api::Secret;

    use super::{is_version, leaves_out_a_file, redacted};

    #[test]
    fn tells_a_version_from_a_warning() {
        for version in ["v1.37.2", "v1.36.0-rc.1", "v1.36.2+abc"] {
            assert!(is_version(version), "{version}");
        }
        for other in [
            "",
            "v1",
            "v1.2",
            "1.37.2",
            "W1202 warning: v1.37.2 is old",
            "v1.x.2",
            "error: unknown",
        ] {
            assert!(!is_version(other), "{other}");
        }
    }

    #[test]
    fn knows_a_journal_that_was_not_read_whole() {
        assert!(leaves_out_a_file(
            "Journal file /var/log/journal/0123/system.journal is truncated, ignoring file."
        ));
        assert!(!leaves_out_a_file(
            "E1203 02:00:00.0 failed to run Kubelet: running with swap on"
        ));
    }

    #[test]
    fn hides_the_token() {
        let token = Secret::new("abcdef.0123456789abcdef".to_owned());
        assert_eq!(
            redacted("token abcdef.0123456789abcdef is invalid", &token),
            "token abcdef.[secret] is invalid"
        );
        assert_eq!(redacted("secret=0123456789abcdef", &token), "secret=[secret]");
    }
}
