//! Keeps the whole lab in namespaces of its own, so that its end, however violent, takes every process, interface and mount with it.
//!
//! The process that the user started stays outside: it only waits, and answers a signal by killing the process inside. That one
//! is the first of its process namespace, so the kernel kills all the others with it.

use std::env;
use std::fs;
use std::process::{self, Child, Command, ExitStatus};

use anyhow::{Context, bail, ensure};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::getuid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::command;

/// In the environment of the process inside: what was prepared outside, as JSON.
const MARKER: &str = "DYNK8S_LAB_CONTAINED";

/// Where the lab keeps its files: memory that vanishes with it.
pub const SCRATCH: &str = "/run/lab";
const TEMPORARY: &str = "/run/lab/tmp";

/// Returns inside new network, mount and process namespaces; must be called first thing in `main`, before any thread exists.
///
/// Outside, it does not return: it ends as the process inside ended.
pub fn enter() -> anyhow::Result<()> {
    enter_prepared(|| Ok(()))
}

/// Like [`enter`], after preparing outside, where the host's network is; what was prepared is handed in.
pub fn enter_prepared<T: Serialize + DeserializeOwned>(
    prepare: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if let Ok(handed) = env::var(MARKER) {
        // What the process outside blocks, so that it can wait for it, is handed down to every service; they must hear it.
        SigSet::all().thread_unblock().context("failed to unblock signals")?;
        settle().context("failed to prepare the lab's namespaces")?;
        return serde_json::from_str(&handed).with_context(|| format!("failed to understand `{MARKER}`"));
    }
    // In a user namespace of one's own, the files of the host belong to nobody and could not be overlaid.
    ensure!(
        getuid().is_root(),
        "the lab must be run as root, to overlay the host's files; it changes none of them"
    );
    let handed = serde_json::to_string(&prepare()?).context("failed to hand in what was prepared")?;
    let code = contain(&handed)?;
    #[expect(
        clippy::exit,
        reason = "the outer process is only the shell of the inner one and ends with its status"
    )]
    process::exit(code)
}

fn contain(handed: &str) -> anyhow::Result<i32> {
    let signals: SigSet = [
        Signal::SIGCHLD,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
    ]
    .into_iter()
    .collect();
    signals.thread_block().context("failed to block signals")?;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID).context(
        "failed to make namespaces for the lab: even root may not here, run it where CAP_SYS_ADMIN is granted",
    )?;
    let program = env::current_exe().context("failed to find the running program")?;
    let mut inside = Command::new(program)
        .args(env::args_os().skip(1))
        .env(MARKER, handed)
        .env("TMPDIR", TEMPORARY)
        .spawn()
        .context("failed to start the lab in its namespaces")?;
    wait(&mut inside, &signals)
}

fn wait(inside: &mut Child, signals: &SigSet) -> anyhow::Result<i32> {
    loop {
        let signal = signals.wait().context("failed to wait for a signal")?;
        if signal == Signal::SIGCHLD {
            if let Some(status) = inside.try_wait().context("failed to wait for the lab")? {
                return Ok(exit_code(status));
            }
            continue;
        }
        inside.kill().context("failed to kill the lab")?;
        inside.wait().context("failed to wait for the lab's end")?;
        return Ok(128 + signal as i32);
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

fn settle() -> anyhow::Result<()> {
    if process::id() != 1 {
        bail!("`{MARKER}` is set outside of a lab: unset it");
    }
    prctl::set_pdeathsig(Signal::SIGKILL).context("failed to tie the lab to its starter")?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none).context("failed to make mounts private")?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none).context("failed to mount `/proc`")?;
    mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        MsFlags::empty(),
        Some("mode=755,size=80%"),
    )
    .context("failed to mount `/run`")?;
    fs::create_dir_all(TEMPORARY).with_context(|| format!("failed to create `{TEMPORARY}`"))?;
    command::run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
    Ok(())
}
