//! Named network namespaces: made, configured, used by processes and sockets, removed.

use std::fs::File;
use std::io;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::Context;
use nix::sched::{CloneFlags, setns, unshare};
use tokio::runtime::{Builder, Runtime};

use super::command;
use super::process::Spawn;

/// A network namespace of the lab, removed on drop.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    path: PathBuf,
    runtime: Option<Runtime>,
}

impl Namespace {
    pub fn create(name: &str) -> anyhow::Result<Self> {
        command::run(Command::new("ip").args(["netns", "add", name]))?;
        let path = Path::new("/run/netns").join(name);
        let runtime =
            runtime(name, path.clone()).with_context(|| format!("failed to start a runtime in namespace `{name}`"))?;
        let namespace = Self {
            name: name.to_owned(),
            path,
            runtime: Some(runtime),
        };
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a thread inside.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_thread(|| {
            enter(&self.path)?;
            Ok(work())
        })
    }

    /// Starts processes inside.
    pub fn spawner(&self) -> Spawn {
        let path = self.path.clone();
        Arc::new(move |mut command| {
            on_thread(|| {
                enter(&path)?;
                command.spawn()
            })
        })
    }

    /// Starts processes inside, each on a host of this name, as in a Pod.
    pub fn host_spawner(&self, name: &str) -> Spawn {
        let (path, name) = (self.path.clone(), name.to_owned());
        Arc::new(move |mut command| {
            on_thread(|| {
                enter(&path)?;
                unshare(CloneFlags::CLONE_NEWUTS)?;
                std::fs::write("/proc/sys/kernel/hostname", &name)?;
                command.spawn()
            })
        })
    }

    /// Runs a program inside to its end; its standard output.
    pub fn output(&self, mut command: Command) -> anyhow::Result<String> {
        let name = &self.name;
        self.run(move || command::run(&mut command))
            .with_context(|| format!("failed to enter namespace `{name}`"))?
    }

    /// A runtime whose sockets are all born inside, listening and connecting ones alike.
    pub fn tokio(&self) -> tokio::runtime::Handle {
        #[expect(clippy::expect_used, reason = "the runtime is only taken by drop")]
        self.runtime
            .as_ref()
            .expect("runtime lives as long as its namespace")
            .handle()
            .clone()
    }

    /// Runs `work` on that runtime and waits for it, which no thread of a runtime may do.
    pub fn wait_for<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> anyhow::Result<T> {
        let (done, waiting) = mpsc::channel();
        self.tokio().spawn(async move {
            // Nobody waits any longer, if this fails.
            let _ = done.send(work.await);
        });
        waiting
            .recv()
            .with_context(|| format!("failed to finish work in namespace `{}`", self.name))
    }

    /// Applies lines of `ip -batch`.
    pub fn ip(&self, batch: &str) -> anyhow::Result<()> {
        command::feed(Command::new("ip").args(["-n", &self.name, "-batch", "-"]), batch)?;
        Ok(())
    }

    /// Applies an nftables script.
    pub fn nft(&self, script: &str) -> anyhow::Result<()> {
        let mut nft = Command::new("nft");
        nft.args(["-f", "-"]);
        self.run(|| command::feed(&mut nft, script))
            .with_context(|| format!("failed to enter namespace `{}`", self.name))??;
        Ok(())
    }

    /// Lets packets pass from one interface to another.
    pub fn forward_packets(&self) -> anyhow::Result<()> {
        let file = "/proc/sys/net/ipv4/ip_forward";
        self.run(|| std::fs::write(file, "1"))
            .and_then(|written| written)
            .with_context(|| format!("failed to write `{file}` in namespace `{}`", self.name))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        if let Err(error) = command::run(Command::new("ip").args(["netns", "delete", &self.name])) {
            tracing::warn!("{error:#}");
        }
    }
}

fn runtime(name: &str, path: PathBuf) -> io::Result<Runtime> {
    let enter_or_die = move || {
        #[expect(
            clippy::expect_used,
            reason = "a socket in the wrong namespace would make every result a lie"
        )]
        enter(&path).expect("runtime thread enters its namespace");
    };
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name(name)
        .on_thread_start(enter_or_die)
        .enable_all()
        .build()
}

/// Moves the calling thread, and what it starts, into the namespace at `path`.
pub(super) fn enter(path: &Path) -> io::Result<()> {
    setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?;
    Ok(())
}

/// A thread of its own, because what it enters it cannot leave.
pub(super) fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(work)
            .join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}
