//! The command line.

mod follow;
mod look;
mod pages;
#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use jiff::SignedDuration;

use crate::bootstrap;
use crate::config::{DEFAULT_PATH, Settings};
use crate::reset::{self, Purpose};
use crate::timeline;

/// Exit codes: what systemd may try again, and what only a person can mend.
const FAILED: u8 = 1;
const MISCONFIGURED: u8 = 2;

/// Takes an EC2 instance from a bare boot to a node of an on-premises Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 done, 1 failed and worth another try, 2 configuration or command line."
)]
pub struct Arguments {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE", default_value = DEFAULT_PATH)]
    config: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Join the cluster, or bring a node that has joined back, then stay until told to end. The unit runs this.
    Run,
    /// Start the unit if it does not run, wait until the node is Ready, and say so by the exit code. For cloud-init's runcmd.
    Bootstrap {
        /// How long to wait.
        #[arg(long, value_name = "TIME", default_value = "30m", value_parser = patience)]
        timeout: Duration,
    },
    /// Print how far the journey is, with times, and why it failed if it did. Exit code 0 means: the Node is Ready.
    Status {
        /// Print it for programs.
        #[arg(long)]
        json: bool,
    },
    /// Look at every step, change nothing, and say what is wrong and what to do about it.
    Doctor,
    /// Tell what `run` would do on this machine, step by step, and change nothing.
    ///
    /// Says what the machine shows of itself, whom it would ask and how, which interface, routes and resolvers it would set up, which
    /// files it would write and what it would put right. The provisioner is not asked: on a machine that has not claimed yet, the
    /// plan says what only the claim will tell. No secret is printed. Exit code 1 means: something is in the way.
    Plan {
        /// Print it for programs.
        #[arg(long)]
        json: bool,
    },
    /// Look at the configuration.
    #[command(subcommand)]
    Config(Configuration),
    /// Take the node apart, so that this instance can join again.
    ///
    /// Takes back what `kubeadm join` did, puts the host's DNS back as it was before the agent, and removes the tunnel with its
    /// routes and rules, /run/dynk8s and the kubelet's resolver file. What was taken away is printed. The keys that prove who
    /// this instance is stay in /var/lib/dynk8s, so that the next `run` continues the claim with fresh material; the tunnel's
    /// key goes. Once the Node has been Ready, the provisioner hands nothing out any more; then terminate the instance instead:
    /// that is also what makes the provisioner delete the Node.
    ///
    /// First stop the unit: `systemctl stop dynk8s-agent`. A step that fails does not keep the others from being taken; the
    /// command may be given again.
    Reset,
    /// Make this disk fit for an image: reset, then remove the ids, the keys and the logs of this machine.
    ///
    /// After `reset` this also runs `cloud-init clean` where there is cloud-init, empties the journal, the logs of pods and
    /// syslog's, removes /var/lib/dynk8s, and empties /etc/machine-id, so that each instance draws its own. The configuration
    /// in /etc/dynk8s/agent.toml stays, and so do SSH host keys and container images. Give this command last, and then power
    /// off.
    ///
    /// First stop the unit: `systemctl stop dynk8s-agent`.
    PrepareImage,
    /// Print the version.
    Version,
    /// Print completions for a shell.
    Completions { shell: Shell },
    /// Write the man pages, for packages.
    #[command(hide = true)]
    Manual { folder: PathBuf },
}

#[derive(Debug, Subcommand)]
enum Configuration {
    /// Name everything that is wrong with the configuration file, each fault with its line.
    Check,
    /// Print what holds, defaults included, without secrets.
    Show,
}

impl Arguments {
    /// Does what was asked, and says how it went.
    pub fn execute(&self) -> ExitCode {
        let outcome = match &self.command {
            Command::Run => self.run(),
            Command::Bootstrap { timeout } => self.bootstrap(*timeout),
            Command::Status { json } => look::status(Path::new(timeline::PATH), *json),
            Command::Doctor => look::doctor(&self.config),
            Command::Plan { json } => match self.settings() {
                Some(settings) => look::plan(&settings, *json),
                None => Ok(ExitCode::from(MISCONFIGURED)),
            },
            Command::Config(Configuration::Check) => self.check(),
            Command::Config(Configuration::Show) => self.show(),
            Command::Reset => self.reset(Purpose::Rejoin),
            Command::PrepareImage => self.reset(Purpose::Image),
            Command::Version => print(concat!("dynk8s-agent ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| done()),
            Command::Completions { shell } => print(&pages::completions(*shell)).map(|()| done()),
            Command::Manual { folder } => pages::manual(folder).map(|()| done()),
        };
        outcome.unwrap_or_else(|error| {
            bootstrap::complain(&error);
            ExitCode::from(FAILED)
        })
    }

    fn run(&self) -> anyhow::Result<ExitCode> {
        let Some(settings) = self.settings() else {
            return Ok(ExitCode::from(MISCONFIGURED));
        };
        let runtime = runtime()?;
        let ended = runtime.block_on(bootstrap::run(&settings));
        if let Err(failure) = &ended {
            runtime.block_on(bootstrap::give_up(&settings, failure));
        }
        ended.map(|()| done())
    }

    fn bootstrap(&self, timeout: Duration) -> anyhow::Result<ExitCode> {
        let Some(settings) = self.settings() else {
            return Ok(ExitCode::from(MISCONFIGURED));
        };
        runtime()?.block_on(follow::follow(&settings, timeout)).map(|()| done())
    }

    /// Without a configuration that can be read, it takes the runtime that is there.
    fn reset(&self, purpose: Purpose) -> anyhow::Result<ExitCode> {
        let settings = Settings::load(&self.config).ok();
        let cri_socket = settings.as_ref().and_then(|it| it.cri_socket.as_deref());
        let tell = |text: &str| print(&format!("{text}\n"));
        let failures = runtime()?.block_on(reset::reset(purpose, cri_socket, tell))?;
        failures.iter().for_each(bootstrap::complain);
        Ok(if failures.is_empty() {
            done()
        } else {
            ExitCode::from(FAILED)
        })
    }

    fn check(&self) -> anyhow::Result<ExitCode> {
        match Settings::load(&self.config) {
            Ok(settings) => {
                let provisioner = &settings.provisioner;
                print(&format!(
                    "`{}` is right: the provisioner is {provisioner}\n",
                    self.config.display()
                ))?;
                Ok(done())
            }
            Err(problems) => {
                print(&problems.list())?;
                Ok(ExitCode::from(MISCONFIGURED))
            }
        }
    }

    fn show(&self) -> anyhow::Result<ExitCode> {
        let Some(settings) = self.settings() else {
            return Ok(ExitCode::from(MISCONFIGURED));
        };
        print(&settings.show()).map(|()| done())
    }

    /// What the configuration says; what is wrong with it is said at once.
    fn settings(&self) -> Option<Settings> {
        Settings::load(&self.config)
            .map_err(|problems| bootstrap::complain(&anyhow::Error::new(problems)))
            .ok()
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("failed to start")
}

fn done() -> ExitCode {
    ExitCode::SUCCESS
}

fn patience(text: &str) -> Result<Duration, String> {
    let length: Option<SignedDuration> = text.parse().ok();
    length
        .and_then(|it| Duration::try_from(it).ok())
        .filter(|it| !it.is_zero())
        .ok_or_else(|| "a length of time is needed, as in 90s or 30m".to_owned())
}

/// Who goes away before the end, as `head` does, has seen enough.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("failed to print"),
    }
}
