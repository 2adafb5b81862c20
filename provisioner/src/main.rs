//! The command `dynk8s-provisioner`; see `dynk8s_provisioner::cli`.

use std::process::ExitCode;

use clap::Parser as _;
use dynk8s_provisioner::cli::Cli;
use dynk8s_provisioner::commands;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // Nobody can have chosen another one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    commands::run(cli.command).await
}
