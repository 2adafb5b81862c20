//! Labels of `SELinux`: a file that is renamed into its place brings those of the folder it was written in.

use std::path::Path;
use std::time::Duration;

use tracing::warn;

use super::command;

/// There while the kernel has a policy.
const POLICY: &str = "/sys/fs/selinux/enforce";
const PROGRAM: &str = "restorecon";
const PATIENCE: Duration = Duration::from_secs(10);

/// Gives files, or links, the labels that the host's policy has for their paths, where there is a policy. Whoever manages them
/// may be forbidden to write them otherwise; this agent is not, so it only warns.
pub(crate) async fn restore(paths: &[&str]) {
    restore_by(PROGRAM, Path::new(POLICY), paths).await;
}

async fn restore_by(program: &str, policy: &Path, paths: &[&str]) {
    if !policy.exists() {
        return;
    }
    let arguments = [&["-i"], paths].concat();
    let ended = command::run(program, &arguments, PATIENCE, |_| {}).await;
    let complaint = match ended {
        Ok(ended) if ended.success => return,
        Ok(ended) => ended.lines.join(" "),
        Err(error) => error.to_string(),
    };
    warn!("failed to restore the labels of {}: {complaint}", paths.join(", "));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::restore_by;

    #[tokio::test]
    async fn asks_the_policy_only_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let (program, policy, said) = (
            folder.path().join("restorecon"),
            folder.path().join("enforce"),
            folder.path().join("said"),
        );
        fs::write(&program, format!("#!/bin/sh\necho \"$@\" > {}\n", said.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap();
        restore_by(program, &policy, &["/etc/resolv.conf"]).await;
        assert!(!said.exists());
        fs::write(&policy, "1").unwrap();
        restore_by(program, &policy, &["/etc/resolv.conf", "/etc/hosts"]).await;
        assert_eq!(fs::read_to_string(&said).unwrap(), "-i /etc/resolv.conf /etc/hosts\n");
    }
}
