//! The machine boots with what it is given, finds its network as on AWS, and has what a node needs.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use dynk8s_lab::host::containment::{self, SCRATCH};
use dynk8s_lab::host::packages;
use dynk8s_lab::machine::image::{self, Image};
use dynk8s_lab::machine::{File, Machine, MachineConfig};
use dynk8s_lab::programs::{self, Programs};
use dynk8s_lab::story::checks;
use dynk8s_lab::topology::Topology;
use dynk8s_lab::topology::addresses::{VPC_FIRST_INSTANCE, VPC_RESOLVER, VPC_ROUTER};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

const NAME: &str = "node-1";
const INSTANCE: &str = "i-0123456789abcdef0";
const MAC: &str = "02:64:ac:1f:00:0a";
const BOOT_WITHIN: Duration = Duration::from_mins(2);

fn main() -> anyhow::Result<ExitCode> {
    let (programs, image) = containment::enter_prepared(|| {
        Builder::new_current_thread().enable_all().build()?.block_on(async {
            packages::ensure_host_packages().await?;
            let programs = programs::ensure().await?;
            let image = image::ensure(&programs).await?;
            Ok((programs, image))
        })
    })?;
    let lab = Arc::new(Lab::start(programs, &image)?);
    let trial = |name: &str, check: fn(&Lab) -> anyhow::Result<()>| {
        let lab = lab.clone();
        Trial::test(name, move || check(&lab).map_err(|error| format!("{error:#}").into()))
    };
    let trials = vec![
        trial("the_lease_is_the_reserved_address", the_lease_is_the_reserved_address),
        trial("resolvers_are_those_of_aws", resolvers_are_those_of_aws),
        trial("wireguard_is_in_the_kernel", wireguard_is_in_the_kernel),
        trial("containerd_answers", containerd_answers),
        trial("kubernetes_is_of_the_release", kubernetes_is_of_the_release),
        trial("given_files_arrive", given_files_arrive),
        trial("no_unit_fails", no_unit_fails),
        trial("the_console_is_kept", the_console_is_kept),
        trial("a_program_is_told_whole", a_program_is_told_whole),
        trial("a_missing_file_is_told", a_missing_file_is_told),
    ];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}

struct Lab {
    // Dropped before the network that it is in.
    machine: Machine,
    programs: Programs,
    runtime: Runtime,
    _topology: Topology,
}

impl Lab {
    fn start(programs: Programs, image: &Image) -> anyhow::Result<Self> {
        let topology = Topology::build()?;
        topology.vpc.tap(NAME, MAC, VPC_FIRST_INSTANCE)?;
        let config = MachineConfig {
            name: NAME.to_owned(),
            instance: INSTANCE.to_owned(),
            mac: MAC.to_owned(),
            tap: NAME.to_owned(),
            memory: 1024,
            clock: None,
            files: vec![
                File::new("/etc/dynk8s/agent.toml", 0o640, "given = true\n"),
                File::link("/etc/dynk8s/link", "agent.toml"),
                File::new("/usr/local/bin/given", 0o755, "#!/bin/sh\necho given\n"),
            ],
            folder: Path::new(SCRATCH).join(NAME),
        };
        let machine = Machine::power_on(image, &config, &topology.vpc.namespace().spawner())?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.block_on(machine.wait_for_agent(BOOT_WITHIN))?;
        // Its status is that something failed, which is another test's matter.
        runtime.block_on(machine.exec(&["systemctl", "is-system-running", "--wait"]))?;
        Ok(Self {
            machine,
            programs,
            runtime,
            _topology: topology,
        })
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        self.runtime.block_on(self.machine.run(words))
    }

    fn read(&self, path: &str) -> anyhow::Result<String> {
        self.runtime.block_on(self.machine.read(path))
    }
}

fn the_lease_is_the_reserved_address(lab: &Lab) -> anyhow::Result<()> {
    let addresses = lab.run(&["ip", "-4", "-oneline", "address", "show", "dev", "ens5"])?;
    ensure!(addresses.contains(&format!(" {VPC_FIRST_INSTANCE}/20 ")), "{addresses}");
    let routes = lab.run(&["ip", "route", "show", "default"])?;
    ensure!(
        routes.starts_with(&format!("default via {VPC_ROUTER} dev ens5 ")),
        "{routes}"
    );
    Ok(())
}

fn resolvers_are_those_of_aws(lab: &Lab) -> anyhow::Result<()> {
    let servers = |path: &str| -> anyhow::Result<Vec<String>> { Ok(checks::nameservers(&lab.read(path)?)) };
    let upstream = servers("/run/systemd/resolve/resolv.conf")?;
    ensure!(upstream == [VPC_RESOLVER.to_string()], "{upstream:?}");
    for path in ["/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf"] {
        let stub = servers(path)?;
        ensure!(stub == ["127.0.0.53"], "`{path}`: {stub:?}");
    }
    lab.run(&["resolvectl", "query", "vpn.onprem.example"]).map(drop)
}

fn wireguard_is_in_the_kernel(lab: &Lab) -> anyhow::Result<()> {
    lab.run(&["modprobe", "wireguard"])?;
    lab.run(&["ip", "link", "add", "try", "type", "wireguard"])?;
    lab.run(&["ip", "link", "delete", "try"]).map(drop)
}

fn containerd_answers(lab: &Lab) -> anyhow::Result<()> {
    let version = lab.run(&["ctr", "version"])?;
    ensure!(version.contains("Server:"), "{version}");
    Ok(())
}

fn kubernetes_is_of_the_release(lab: &Lab) -> anyhow::Result<()> {
    let kubeadm = lab.run(&["kubeadm", "version", "--output=short"])?;
    let kubelet = lab.run(&["kubelet", "--version"])?;
    let version = &lab.programs.version;
    ensure!(kubeadm.trim() == version, "{kubeadm}");
    ensure!(kubelet.trim() == format!("Kubernetes {version}"), "{kubelet}");
    Ok(())
}

fn given_files_arrive(lab: &Lab) -> anyhow::Result<()> {
    let given = lab.run(&[
        "stat",
        "--format=%a %U:%G",
        "/etc/dynk8s/agent.toml",
        "/usr/local/bin/given",
    ])?;
    ensure!(given == "640 root:root\n755 root:root\n", "{given}");
    let text = lab.read("/etc/dynk8s/link")?;
    ensure!(text == "given = true\n", "{text}");
    let printed = lab.run(&["given"])?;
    ensure!(printed == "given\n", "{printed}");
    let name = lab.run(&["uname", "--nodename"])?;
    ensure!(name.trim() == NAME, "{name}");
    Ok(())
}

fn no_unit_fails(lab: &Lab) -> anyhow::Result<()> {
    let failed = lab.run(&["systemctl", "--failed", "--no-legend", "--plain"])?;
    ensure!(failed.is_empty(), "{failed}");
    Ok(())
}

fn the_console_is_kept(lab: &Lab) -> anyhow::Result<()> {
    lab.run(&["sh", "-c", "echo a sign > /dev/console"])?;
    let tail = lab.machine.console_tail(20);
    ensure!(tail.contains("a sign"), "{tail}");
    Ok(())
}

fn a_program_is_told_whole(lab: &Lab) -> anyhow::Result<()> {
    let exec = |script: &str| lab.runtime.block_on(lab.machine.exec(&["sh", "-c", script]));
    let output = exec("echo out; echo err >&2; exit 3")?;
    ensure!(
        (output.code, output.stdout.as_str(), output.stderr.as_str()) == (3, "out\n", "err\n"),
        "{output:?}"
    );
    let killed = exec("kill -KILL $$")?;
    ensure!(killed.code == 137, "{killed:?}");
    match lab.run(&["no-such-program"]) {
        Err(error) if format!("{error:#}").contains("No such file") => Ok(()),
        other => bail!("{other:?}"),
    }
}

fn a_missing_file_is_told(lab: &Lab) -> anyhow::Result<()> {
    match lab.read("/no/such/file") {
        Err(error) if error.to_string().contains("/no/such/file: No such file or directory") => Ok(()),
        other => bail!("{other:?}"),
    }
}
