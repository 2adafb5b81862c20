//! The command line.

mod follow;
mod pages;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use dynk8s_api::progress::Outcome;
use jiff::SignedDuration;

use crate::bootstrap;
use crate::config::{DEFAULT_PATH, Settings};
use crate::doctor::{self, Verdict};
use crate::reset::{self, Purpose};
use crate::timeline::{self, Timeline};

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
            Command::Status { json } => status(Path::new(timeline::PATH), *json),
            Command::Doctor => self.doctor(),
            Command::Config(Configuration::Check) => self.check(),
            Command::Config(Configuration::Show) => self.show(),
            Command::Reset => self.reset(Purpose::Rejoin),
            Command::PrepareImage => self.reset(Purpose::Image),
            Command::Version => print(concat!("dynk8s-agent ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| done()),
            Command::Completions { shell } => {
                pages::completions(*shell);
                Ok(done())
            }
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

    fn doctor(&self) -> anyhow::Result<ExitCode> {
        let checks = runtime()?.block_on(doctor::examine(&self.config));
        print(&doctor::render(&checks))?;
        let wrong = checks.iter().any(|it| it.verdict == Verdict::Wrong);
        Ok(if wrong { ExitCode::from(FAILED) } else { done() })
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

fn status(path: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let Some(timeline) = Timeline::load(path)? else {
        anyhow::bail!("no journey has begun since this machine booted; `systemctl status dynk8s-agent` tells why");
    };
    if json {
        let text = serde_json::to_string_pretty(&timeline).context("failed to write the timeline")?;
        print(&format!("{text}\n"))?;
    } else {
        print(&timeline::render(&timeline))?;
    }
    Ok(match timeline.progress.outcome {
        Outcome::Ready => done(),
        Outcome::Running | Outcome::Failed => ExitCode::from(FAILED),
    })
}

fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("failed to print")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};
    use test_case::test_case;

    use super::Arguments;

    #[test]
    fn is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn asks_for_a_command_and_takes_the_file_anywhere() {
        assert!(Arguments::try_parse_from(["dynk8s-agent"]).is_err());
        let arguments = Arguments::try_parse_from(["dynk8s-agent", "config", "check", "--config", "/x"]).unwrap();
        assert_eq!(arguments.config.to_str(), Some("/x"));
    }

    #[test_case("90s", true)]
    #[test_case("1h 30m", true; "two units")]
    #[test_case("0s", false)]
    #[test_case("-1m", false)]
    #[test_case("soon", false)]
    fn waits_for_a_length_of_time(text: &str, right: bool) {
        let arguments = ["dynk8s-agent", "bootstrap", "--timeout", text];
        let arguments = if text.starts_with('-') {
            vec!["dynk8s-agent", "bootstrap", "--timeout=-1m"]
        } else {
            arguments.to_vec()
        };
        assert_eq!(Arguments::try_parse_from(arguments).is_ok(), right);
    }

    #[test]
    fn every_command_says_what_it_does() {
        for command in Arguments::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }
}
