//! `kubeadm` and `systemctl` in a room of the lab, by the name that it is called by.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use dynk8s_lab::stand_in;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    act().unwrap_or_else(|error| {
        complain(&error);
        ExitCode::FAILURE
    })
}

fn act() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = env::args().collect();
    let (program, arguments) = words.split_first().context("failed to find the name of this program")?;
    let program = Path::new(program)
        .file_name()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(stand_in::run(program, &arguments))
}

#[expect(clippy::print_stderr, reason = "a program's complaint")]
fn complain(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
