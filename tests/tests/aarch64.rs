//! The package for Graviton: built by a compiler for another architecture, and its agent run under qemu.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use dynk8s_lab::debian::{AARCH64_BUILDER, Debian};
use dynk8s_lab::host::command::run;
use dynk8s_lab::host::packages;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const AGENT: &str = "/mnt/built/aarch64-unknown-linux-gnu/agent/dynk8s-agent";
const WRONG_CONFIGURATION: &str = "provisioner = \"ftp://dynk8s.onprem.example\"\n";

/// A Debian with this workspace, Cargo's sources and a folder for what is built.
struct Builder {
    debian: Debian,
    workspace: PathBuf,
    registry: PathBuf,
    built: PathBuf,
}

impl Builder {
    async fn prepare() -> anyhow::Result<Self> {
        packages::ensure_host_packages().await?;
        let debian = Debian::ensure(&AARCH64_BUILDER).await?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
        run(Command::new(env!("CARGO"))
            .args(["fetch", "--locked", "--target", TRIPLE])
            .current_dir(&workspace))?;
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::home_dir().map(|it| it.join(".cargo")));
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aarch64");
        std::fs::create_dir_all(&built)?;
        Ok(Self {
            debian,
            registry: home
                .context("failed to find Cargo's home: set CARGO_HOME")?
                .join("registry"),
            workspace,
            built,
        })
    }

    /// A shell in that Debian.
    fn shell(&self, script: &str) -> Command {
        let shown: [(&Path, &str); 3] = [
            (&self.workspace, "/mnt/dynk8s"),
            (&self.registry, "/mnt/cargo/registry"),
            (&self.built, "/mnt/built"),
        ];
        let script = format!(
            "cd /mnt/dynk8s; export CARGO_HOME=/mnt/cargo CARGO_TARGET_DIR=/mnt/built CARGO_NET_OFFLINE=true\n{script}"
        );
        self.debian.command(&shown, &["sh", "-euc", &script])
    }
}

#[tokio::test]
async fn the_agent_runs_on_graviton() {
    let builder = Builder::prepare().await.unwrap();
    let committed = ["log", "-1", "--format=%ct"];
    let epoch = run(Command::new("git").args(committed).current_dir(&builder.workspace)).unwrap();
    let build = format!(
        "SOURCE_DATE_EPOCH={} make --no-print-directory rpm TARGET=aarch64",
        epoch.trim()
    );
    let printed = run(&mut builder.shell(&build)).unwrap();
    let package = printed.lines().last().unwrap();
    assert!(package.ends_with(".aarch64.rpm"), "{package}");
    let arch = run(&mut builder.shell(&format!("rpm --query --package --queryformat '%{{ARCH}}' {package}"))).unwrap();
    assert_eq!(arch, "aarch64");

    let version = run(&mut builder.shell(&format!("qemu-aarch64 {AGENT} version"))).unwrap();
    assert_eq!(version, format!("dynk8s-agent {}\n", env!("CARGO_PKG_VERSION")));

    // Both end with a status of their own, and say why.
    let check = format!(
        "echo '{WRONG_CONFIGURATION}' > /tmp/agent.toml; qemu-aarch64 {AGENT} config check --config /tmp/agent.toml"
    );
    let checked = builder.shell(&check).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(2), "{said}");
    assert!(said.contains("provisioner_key"), "{said}");
    let looked = builder.shell(&format!("qemu-aarch64 {AGENT} doctor")).output().unwrap();
    let said = String::from_utf8_lossy(&looked.stdout);
    assert_eq!(looked.status.code(), Some(1), "{said}");
    assert!(said.contains("/etc/dynk8s/agent.toml"), "{said}");
}
