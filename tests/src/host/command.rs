//! Runs one program to its end, and says everything about its failure.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

/// Runs the command; its standard output, when it succeeded.
pub fn run(command: &mut Command) -> anyhow::Result<String> {
    feed(command, "")
}

/// Runs the command with a text on its standard input.
pub fn feed(command: &mut Command, input: &str) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start `{program}`: is it installed?"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading all tells its reason by status and standard error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child
        .wait_with_output()
        .with_context(|| format!("failed to wait for `{program}`"))?;
    if !output.status.success() {
        bail!("failed to run `{}`: {}", line(command), complaint(&output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn complaint(output: &Output) -> String {
    format!("{}, {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_command_status_and_complaint() {
        let error = run(Command::new("sh").args(["-c", "echo no room >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "failed to run `sh -c echo no room >&2; exit 3`: exit status: 3, no room"
        );
    }
}
