//! The machine that becomes a node: a virtual one, with a Debian as on EC2 and whatever files a test gives it.

pub mod accelerator;
pub mod archive;
mod guest;
pub mod image;
pub mod packaged;
mod qemu;

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};

pub use self::archive::File;
use self::guest::Guest;
pub use self::guest::Output;
use self::image::Image;
use self::qemu::Files;
use crate::host::command;
use crate::host::process::{Process, Spawn, last_lines};

const EXEC_WITHIN: Duration = Duration::from_mins(1);
/// A unit that does not end is killed after 90 s, which is no good end.
const OFF_WITHIN: Duration = Duration::from_mins(1);
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(200);
const JOURNAL_TRIES: usize = 10;

/// How a machine is to be.
#[derive(Debug, Clone)]
pub struct MachineConfig {
    /// Its host name.
    pub name: String,
    /// The id of the instance, which its firmware shows.
    pub instance: String,
    pub mac: String,
    /// An existing tap device in the namespace that the machine is started in.
    pub tap: String,
    pub memory: u32,
    /// What its clock shows at first, if not the time.
    pub clock: Option<Timestamp>,
    /// What is laid over the image before its systemd starts.
    pub files: Vec<File>,
    /// A folder for the machine's disk, logs and sockets; its path must be short, as that of a socket is.
    pub folder: PathBuf,
}

/// A running machine; the power goes off when this value is dropped, and its logs stay.
pub struct Machine {
    name: String,
    image: Image,
    config: MachineConfig,
    files: Files,
    spawn: Spawn,
    process: Mutex<Process>,
}

impl Machine {
    pub fn power_on(image: &Image, config: &MachineConfig, spawn: &Spawn) -> anyhow::Result<Self> {
        let name = &config.name;
        let files = Files::below(&config.folder);
        prepare(image, config, &files).with_context(|| format!("failed to prepare machine `{name}`"))?;
        let process = Process::start(qemu::run(image, config, &files.initrd, &files), &files.log, spawn)
            .with_context(|| format!("failed to power on machine `{name}`"))?;
        Ok(Self {
            name: name.clone(),
            image: image.clone(),
            config: config.clone(),
            files,
            spawn: spawn.clone(),
            process: Mutex::new(process),
        })
    }

    /// Lets the machine start again, from its disk as it is by then.
    pub async fn reboot(&self) -> anyhow::Result<()> {
        let name = &self.name;
        self.end().await?;
        // The image's own: what was laid over it at the power on is on the disk, if it is still there.
        let command = qemu::run(&self.image, &self.config, &self.image.initrd, &self.files);
        let process = Process::start(command, &self.files.log, &self.spawn)
            .with_context(|| format!("failed to reboot machine `{name}`"))?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = process;
        Ok(())
    }

    /// Asks systemd for a reboot, and waits until qemu has ended: it does so instead of a reset.
    async fn end(&self) -> anyhow::Result<()> {
        // The guest agent may be stopped before it has answered: what counts is the end.
        let asked = self.run(&["systemctl", "--no-block", "reboot"]).await;
        let end = Instant::now() + OFF_WITHIN;
        while self.check().is_ok() {
            if Instant::now() > end {
                asked?;
                bail!(
                    "machine `{}` has not ended within {} s after `systemctl reboot`; the console ends with:\n{}",
                    self.name,
                    OFF_WITHIN.as_secs(),
                    self.console_tail(30)
                );
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Waits until programs can be run, which is soon after systemd's start.
    pub async fn wait_for_agent(&self, patience: Duration) -> anyhow::Result<()> {
        let name = &self.name;
        let end = Instant::now() + patience;
        while self.exec_within(&["true"], ANSWER_WITHIN).await.is_err() {
            self.check()?;
            if Instant::now() > end {
                bail!(
                    "the guest agent of machine `{name}` does not answer after {} s; the console ends with:\n{}",
                    patience.as_secs(),
                    self.console_tail(30)
                );
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Runs a program to its end, however it ends.
    pub async fn exec(&self, words: &[&str]) -> anyhow::Result<Output> {
        self.exec_within(words, EXEC_WITHIN).await
    }

    /// Runs a program that must succeed, and returns what it prints.
    pub async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        let Output { code, stdout, stderr } = self.exec(words).await?;
        if code != 0 {
            bail!(
                "failed to run `{}` in machine `{}` (exit status {code}): {}",
                words.join(" "),
                self.name,
                last_lines(stderr.trim_end(), 20)
            );
        }
        Ok(stdout)
    }

    /// What the journal of the machine's present boot has, as `journalctl` with these words picks it.
    pub async fn journal(&self, words: &[&str]) -> anyhow::Result<String> {
        let words = [&["journalctl", "--boot", "--no-pager", "--output=cat"], words].concat();
        let mut output = self.exec(&words).await?;
        for _ in 1..JOURNAL_TRIES {
            if !leaves_out_a_file(&output) {
                break;
            }
            sleep(POLL).await;
            output = self.exec(&words).await?;
        }
        let whole = !leaves_out_a_file(&output);
        let Output { code, stdout, stderr } = output;
        if code != 0 || !whole {
            bail!(
                "failed to read the journal of machine `{}` with `{}` (exit status {code}): {stderr}",
                self.name,
                words.join(" ")
            );
        }
        Ok(stdout)
    }

    /// Reads a file as text.
    pub async fn read(&self, path: &str) -> anyhow::Result<String> {
        self.run(&["cat", "--", path]).await
    }

    /// The file that everything printed to the machine's console goes to.
    pub fn console(&self) -> &Path {
        &self.files.console
    }

    pub fn console_tail(&self, count: usize) -> String {
        let console = fs::read(&self.files.console).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&console).replace('\r', ""), count)
    }

    pub fn last_console_line(&self) -> String {
        let tail = self.console_tail(5);
        let mut lines = tail.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// An error with what there is to know, if the machine has gone off by itself.
    pub fn check(&self) -> anyhow::Result<()> {
        let outcome = self.process.lock().unwrap_or_else(PoisonError::into_inner).check();
        outcome.with_context(|| {
            format!(
                "machine `{}` is off; its console ends with:\n{}",
                self.name,
                self.console_tail(30)
            )
        })
    }

    /// Like [`Machine::exec`], for a program that takes longer.
    pub async fn exec_within(&self, words: &[&str], patience: Duration) -> anyhow::Result<Output> {
        let conversation = async { Guest::connect(&self.files.agent).await?.exec(words).await };
        let outcome = match timeout(patience, conversation).await {
            Ok(outcome) => outcome,
            Err(_) => Err(anyhow::anyhow!("no answer within {} s", patience.as_secs())),
        };
        outcome.with_context(|| format!("failed to run `{}` in machine `{}`", words.join(" "), self.name))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // qemu keeps them open until it ends, a moment later; the space is memory.
        for file in [&self.files.disk, &self.files.initrd] {
            if let Err(error) = fs::remove_file(file) {
                tracing::warn!("failed to remove `{}`: {error}", file.display());
            }
        }
    }
}

/// A file that journald makes longer at that very moment looks truncated to `journalctl`, which says so, leaves it out and ends well.
fn leaves_out_a_file(output: &Output) -> bool {
    output.stderr.contains("ignoring file")
}

fn prepare(image: &Image, config: &MachineConfig, files: &Files) -> anyhow::Result<()> {
    let folder = &config.folder;
    fs::create_dir_all(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    command::run(&mut qemu::make_disk(image, files))?;
    write_initrd(image, config, &files.initrd).with_context(|| format!("failed to write `{}`", files.initrd.display()))
}

/// The image's initrd and, behind it, the machine's own files, which its first program copies into the root.
fn write_initrd(image: &Image, config: &MachineConfig, path: &Path) -> anyhow::Result<()> {
    let mut initrd = fs::read(&image.initrd).with_context(|| format!("failed to read `{}`", image.initrd.display()))?;
    let mut own = config.files.clone();
    own.push(File::new("/etc/hostname", 0o644, format!("{}\n", config.name)));
    archive::write(&own, "machine", &mut initrd)?;
    fs::File::create(path)?.write_all(&initrd)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Output, leaves_out_a_file};

    #[test]
    fn knows_a_journal_that_was_not_read_whole() {
        let says = |stderr: &str| Output {
            code: 0,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        };
        let truncated = "Journal file /var/log/journal/0123/system.journal is truncated, ignoring file.\n";
        assert!(leaves_out_a_file(&says(truncated)));
        assert!(!leaves_out_a_file(&says("")));
        assert!(!leaves_out_a_file(&says("No journal files were found.\n")));
    }
}
