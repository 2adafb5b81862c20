//! The command line.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use dynk8s_api::progress::Outcome;

use crate::bootstrap;
use crate::config::{DEFAULT_PATH, Settings};
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
    /// Print how far the journey is, with times, and why it failed if it did. Exit code 0 means: the Node is Ready.
    Status,
    /// Look at the configuration.
    #[command(subcommand)]
    Config(Configuration),
}

#[derive(Debug, Subcommand)]
enum Configuration {
    /// Name everything that is wrong with the configuration file.
    Check,
}

impl Arguments {
    /// Does what was asked, and says how it went.
    pub fn execute(&self) -> ExitCode {
        let outcome = match &self.command {
            Command::Run => return self.run(),
            Command::Status => status(Path::new(timeline::PATH)),
            Command::Config(Configuration::Check) => self.check(),
        };
        outcome.unwrap_or_else(|error| {
            bootstrap::complain(&error);
            ExitCode::from(FAILED)
        })
    }

    fn run(&self) -> ExitCode {
        let settings = match Settings::load(&self.config) {
            Ok(settings) => settings,
            Err(problems) => {
                bootstrap::complain(&anyhow::Error::new(problems));
                return ExitCode::from(MISCONFIGURED);
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime
            .context("failed to start")
            .and_then(|runtime| runtime.block_on(bootstrap::run(&settings)));
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                bootstrap::complain(&error);
                ExitCode::from(FAILED)
            }
        }
    }

    fn check(&self) -> anyhow::Result<ExitCode> {
        match Settings::load(&self.config) {
            Ok(settings) => {
                print(&format!(
                    "`{}` is right: the provisioner is {}\n",
                    self.config.display(),
                    settings.provisioner
                ))?;
                Ok(ExitCode::SUCCESS)
            }
            Err(problems) => {
                bootstrap::complain(&anyhow::Error::new(problems));
                Ok(ExitCode::from(MISCONFIGURED))
            }
        }
    }
}

fn status(path: &Path) -> anyhow::Result<ExitCode> {
    let Some(timeline) = Timeline::load(path)? else {
        anyhow::bail!("no journey has begun since this machine booted; `systemctl status dynk8s-agent` tells why");
    };
    print(&timeline::render(&timeline))?;
    Ok(match timeline.progress.outcome {
        Outcome::Ready => ExitCode::SUCCESS,
        Outcome::Running | Outcome::Failed => ExitCode::from(FAILED),
    })
}

fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("failed to print")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

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
}
