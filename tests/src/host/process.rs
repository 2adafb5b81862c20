//! The processes that the lab starts: services that end with their owner, and tools that end by themselves.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::{Instant, sleep};

const POLL: Duration = Duration::from_millis(10);

/// How a command becomes a process: here, or in the network namespace of one of the lab's machines.
pub type Spawn = Arc<dyn Fn(Command) -> io::Result<Child> + Send + Sync>;

/// Starts processes where the lab itself runs.
pub fn here() -> Spawn {
    Arc::new(|mut command: Command| command.spawn())
}

/// A service: its output goes to a log file, and it is killed when this value is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    pub fn start(mut command: Command, log: &Path, spawn: &Spawn) -> anyhow::Result<Self> {
        let name = name_of(&command);
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("failed to open the log `{}` of `{name}`", log.display()))?;
        command.stdin(std::process::Stdio::null());
        command.stdout(output.try_clone()?);
        command.stderr(output);
        let child = spawn(command).with_context(|| format!("failed to start `{name}`"))?;
        Ok(Self {
            name,
            child,
            log: log.to_owned(),
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// An error with the end of the log, if the process is no longer there.
    pub fn check(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("`{}` ended too early ({status}); {}", self.name, self.last_lines(20));
        }
        Ok(())
    }

    /// The end of the log with the name of its file, for an error or a report.
    pub fn last_lines(&self, count: usize) -> String {
        let end = match std::fs::read(&self.log) {
            Ok(text) => last_lines(&String::from_utf8_lossy(&text), count),
            Err(error) => format!("(unreadable: {error})"),
        };
        format!("`{}` ends with:\n{end}", self.log.display())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has ended already, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a tool to its end and returns what it printed; an exit status other than 0 is an error that quotes its last lines.
/// For what takes a moment, and where nothing can be awaited, there is [`super::command`].
///
/// The output goes through unlinked files, not pipes: nothing has to be read while the tool runs, and the deadline holds even if
/// a grandchild keeps them open.
pub async fn run(mut command: Command, input: &[u8], deadline: Duration, spawn: &Spawn) -> anyhow::Result<String> {
    let name = describe(&command);
    let mut stdin = scratch()?;
    stdin.write_all(input)?;
    stdin.rewind()?;
    let (mut stdout, mut stderr) = (scratch()?, scratch()?);
    command
        .stdin(stdin)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = Reaped(spawn(command).with_context(|| format!("failed to start `{name}`"))?);
    let ended = wait(&mut child.0, deadline).await?;
    let output = contents(&mut stdout)?;
    match ended {
        Some(status) if status.success() => Ok(output),
        Some(status) => bail!(
            "failed to run `{name}` ({status}):\n{}",
            last_lines(&(output + &contents(&mut stderr)?), 20)
        ),
        None => bail!(
            "failed to see `{name}` end within {} s:\n{}",
            deadline.as_secs(),
            last_lines(&(output + &contents(&mut stderr)?), 20)
        ),
    }
}

/// A child that does not outlive the future that waits for it.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn wait(child: &mut Child, deadline: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + deadline;
    loop {
        match child.try_wait()? {
            None if Instant::now() < end => sleep(POLL).await,
            ended => return Ok(ended),
        }
    }
}

fn scratch() -> anyhow::Result<File> {
    tempfile::tempfile().context("failed to create a temporary file")
}

fn contents(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn name_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The program and its subcommands: what stands before the first flag, so that no value of a flag shows.
fn describe(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    std::iter::once(name_of(command))
        .chain(words.take_while(|word| !word.starts_with('-')))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn run_returns_what_the_tool_printed() {
        let output = run(shell("cat; echo noise >&2"), b"given", Duration::from_secs(5), &here())
            .await
            .unwrap();
        assert_eq!(output, "given");
    }

    #[tokio::test]
    async fn run_quotes_a_failure_without_the_arguments() {
        let error = run(shell("echo why >&2; exit 3"), b"", Duration::from_secs(5), &here())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "failed to run `sh` (exit status: 3):\nwhy");
    }

    #[tokio::test]
    async fn run_ends_a_tool_at_its_deadline() {
        let error = run(shell("exec sleep 60"), b"", Duration::from_millis(50), &here())
            .await
            .unwrap_err();
        assert!(
            error.to_string().starts_with("failed to see `sh` end within"),
            "{error}"
        );
    }

    #[test]
    fn a_service_ends_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(shell("exec sleep 60"), &folder.path().join("log"), &here()).unwrap();
        let entry = PathBuf::from(format!("/proc/{}", process.id()));
        assert!(entry.exists());
        drop(process);
        assert!(!entry.exists());
    }

    #[tokio::test]
    async fn an_early_end_is_told_with_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut process =
            Process::start(shell("echo 1; echo 2 >&2; exit 1"), &folder.path().join("log"), &here()).unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        while process.check().is_ok() && Instant::now() < end {
            sleep(POLL).await;
        }
        let text = process.check().unwrap_err().to_string();
        assert!(
            text.starts_with("`sh` ended too early (exit status: 1)") && text.ends_with("ends with:\n1\n2"),
            "{text}"
        );
    }

    #[test]
    fn last_lines_are_the_last() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }
}
