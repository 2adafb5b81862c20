//! kubeadm, run and listened to. Its output goes to the log line by line, without the token.

use std::time::Duration;

use dynk8s_api::Secret;
use tracing::{debug, info};

use crate::host::command::{self, Ended};

const SHORT: Duration = Duration::from_secs(20);
const RESET: Duration = Duration::from_mins(2);

/// The version of kubeadm, and by the way that packages are made, of the kubelet: `v1.37.2`.
pub(crate) async fn version() -> Result<String, command::Error> {
    let ended = command::run("kubeadm", &["version", "-o", "short"], SHORT, |_| {}).await?;
    Ok(ended.lines.last().cloned().unwrap_or_default())
}

/// Runs the join.
pub(super) async fn join(configuration: &str, token: &Secret, deadline: Duration) -> Result<Ended, command::Error> {
    let arguments = ["join", "--config", configuration];
    let mut ended = command::run("kubeadm", &arguments, deadline, |line| {
        info!("kubeadm: {}", redacted(line, token));
    })
    .await?;
    for line in &mut ended.lines {
        *line = redacted(line, token);
    }
    Ok(ended)
}

/// Takes back what a join did; what it cannot take back, it says in the log.
pub(super) async fn reset(cri_socket: &str) -> Result<(), command::Error> {
    let arguments = ["reset", "-f", "--cri-socket", cri_socket];
    command::run("kubeadm", &arguments, RESET, |line| debug!("kubeadm: {line}")).await?;
    Ok(())
}

/// The last lines of the kubelet's own log.
pub(super) async fn kubelet_log() -> Vec<String> {
    let arguments = ["--unit=kubelet", "--lines=40", "--output=cat", "--no-pager"];
    match command::run("journalctl", &arguments, SHORT, |_| {}).await {
        Ok(ended) => ended.lines,
        Err(error) => {
            debug!("{error}");
            Vec::new()
        }
    }
}

/// Lets the kubelet start at the next boot, which kubeadm leaves to others.
pub(super) async fn enable_kubelet() -> Result<bool, command::Error> {
    let ended = command::run("systemctl", &["enable", "kubelet.service"], SHORT, |line| {
        debug!("systemctl: {line}");
    })
    .await?;
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

    use super::redacted;

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
