//! The program: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use dynk8s_agent::cli::Arguments;
use dynk8s_agent::telemetry;

fn main() -> ExitCode {
    // Nothing has been installed before, so this cannot fail.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    telemetry::start();
    Arguments::parse().execute()
}
