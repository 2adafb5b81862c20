//! However a lab ends, its host is left as it was.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use dynk8s_lab::host::containment;
use dynk8s_lab::host::snapshot::{ProcessNamespace, Snapshot};
use dynk8s_lab::topology::Topology;
use dynk8s_lab::topology::addresses::VPC_FIRST_INSTANCE;
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// In whose environment this program is the lab, in place of its test.
const LAB: &str = "DYNK8S_LAB_TO_END";
const READY: &str = "the lab stands";

fn main() -> anyhow::Result<()> {
    if let Some(ending) = env::var_os(LAB) {
        return lab(ending == "by itself");
    }
    let mut arguments = Arguments::from_args();
    // The tests compare the whole host: they must not see each other.
    arguments.test_threads = Some(1);
    let trials = vec![
        trial("after_its_own_end", None),
        trial("after_sigint", Some(Signal::SIGINT)),
        trial("after_sigterm", Some(Signal::SIGTERM)),
        trial("after_sigkill", Some(Signal::SIGKILL)),
    ];
    libtest_mimic::run(&arguments, trials).exit()
}

fn trial(name: &str, signal: Option<Signal>) -> Trial {
    Trial::test(name, move || {
        check(signal).map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// A lab with everything in it that a lab has: networks, services, a file tree.
fn lab(ends: bool) -> anyhow::Result<()> {
    containment::enter()?;
    let topology = Topology::build()?;
    let host = topology.vpc.host("node-1", "02:64:ac:1f:00:0a", VPC_FIRST_INSTANCE)?;
    let room = host.room()?;
    room.write("/etc/dynk8s/mark", "mine", 0o600)?;
    announce();
    if !ends {
        sleep(Duration::from_mins(10));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn announce() {
    println!("{READY}");
}

fn check(signal: Option<Signal>) -> anyhow::Result<()> {
    let before = Snapshot::take()?;
    let mut lab = start(signal.is_none())?;
    let processes = ProcessNamespace::of_lab(lab.id()).context("failed to find the lab's processes")?;
    if let Some(signal) = signal {
        let inside = processes
            .as_ref()
            .context("failed to find the lab's process namespace")?;
        ensure!(
            !inside.processes()?.is_empty(),
            "the lab has no processes while it runs"
        );
        kill(Pid::from_raw(lab.id().try_into()?), signal).context("failed to signal the lab")?;
    }
    let status = lab.wait().context("failed to wait for the lab")?;
    ensure!(status.success() == signal.is_none(), "the lab ended with {status}");
    if let Some(inside) = processes {
        wait_until_gone(&inside)?;
    }
    let after = Snapshot::take()?;
    ensure!(before == after, "the host has changed: {before:#?} became {after:#?}");
    Ok(())
}

fn start(ends: bool) -> anyhow::Result<Child> {
    let program = env::current_exe().context("failed to find the running program")?;
    let ending = if ends { "by itself" } else { "by a signal" };
    let mut lab = Command::new(program)
        .env(LAB, ending)
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start the lab")?;
    let output = lab.stdout.take().context("the lab has no output")?;
    for line in BufReader::new(output).lines() {
        if line.context("failed to read the lab's output")? == READY {
            return Ok(lab);
        }
    }
    bail!("the lab ended before it stood: {}", lab.wait()?)
}

fn wait_until_gone(inside: &ProcessNamespace) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let left = inside.processes()?;
        if left.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "processes of the lab are left: {left:?}");
        sleep(Duration::from_millis(20));
    }
}
