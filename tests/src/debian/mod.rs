//! Debians of their own, made once and kept, whose programs build and judge what is packaged here.
//!
//! Those of the host may be missing, or older than what they would judge.

mod bootstrap;
mod sources;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use ring::digest::{SHA256, digest};

pub(crate) use self::bootstrap::{bootstrap, recipe as common_recipe};
pub(crate) use self::sources::SUITE;
use crate::host::cache;
use crate::host::progress::say;

/// What programs there are in one, beside those that every Debian has.
#[derive(Debug)]
pub struct Kind {
    name: &'static str,
    /// The second is one whose libraries are installed too.
    architectures: &'static str,
    packages: &'static [&'static str],
}

/// Installs packages, and judges them, units, user data and scripts.
pub const JUDGE: Kind = Kind {
    name: "judge",
    architectures: "amd64",
    packages: &[
        "busybox-static",
        "cloud-init",
        "dnf",
        "rpm",
        "rpmlint",
        "shellcheck",
        "systemd",
    ],
};

/// Builds the agent and its package for aarch64, and runs them.
pub const AARCH64_BUILDER: Kind = Kind {
    name: "aarch64-builder",
    architectures: "amd64,arm64",
    packages: &[
        "ca-certificates",
        "cargo-web",
        "gcc",
        "gcc-aarch64-linux-gnu",
        "git",
        "libc6-dev",
        "libc6-dev-arm64-cross",
        "libstd-rust-web-dev:arm64",
        "make",
        "qemu-user",
        "rpm",
        "rustc-web",
    ],
};

const RESULT: &str = "root";

/// Steps in a shell of the host: the root is `$1`, then come pairs of what of the host to show and where, `--`, and the words.
/// Everything is written to memory, which vanishes with the mounts at the end.
const ENTER: &str = r#"
mount -t tmpfs tmpfs /run
mkdir /run/upper /run/work /run/root
mount -t overlay -o "lowerdir=$1,upperdir=/run/upper,workdir=/run/work" overlay /run/root
mount -t proc proc /run/root/proc
mount --bind /dev /run/root/dev
shift
while [ "$1" != -- ]; do
    mkdir -p "/run/root$(dirname "$2")"
    if [ -d "$1" ]; then mkdir -p "/run/root$2"; else : > "/run/root$2"; fi
    mount --bind "$1" "/run/root$2"
    shift 2
done
shift
exec chroot /run/root "$@""#;

/// The root of its file system.
#[derive(Debug, Clone)]
pub struct Debian {
    root: PathBuf,
}

impl Debian {
    /// Finds it, and makes it if it is not there; that needs the network.
    pub async fn ensure(kind: &Kind) -> anyhow::Result<Self> {
        let recipe = recipe(kind);
        let key = format!("{SUITE}-{}-{}", kind.name, short_digest(&recipe)?);
        let root = cache::folder("debian", &key, async |workshop| make(kind, &recipe, workshop).await).await?;
        Ok(Self { root })
    }

    /// A command that runs in a copy of it, where files and folders of the host are shown at other paths.
    pub fn command(&self, shown: &[(&Path, &str)], words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", ENTER, "sh"]).arg(&self.root);
        for (from, to) in shown {
            command.arg(from).arg(to);
        }
        command.arg("--").args(words);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Where a file of it is on the host.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside.trim_start_matches('/'))
    }
}

fn recipe(kind: &Kind) -> Vec<String> {
    let mut recipe = common_recipe();
    recipe.extend(["--variant=apt", "--format=directory"].map(ToOwned::to_owned));
    recipe.push(format!("--architectures={}", kind.architectures));
    recipe.push(format!("--include={}", kind.packages.join(",")));
    recipe
}

/// Another recipe, another name.
fn short_digest(recipe: &[String]) -> anyhow::Result<String> {
    let mut text = String::new();
    for byte in &digest(&SHA256, recipe.join(" ").as_bytes()).as_ref()[..6] {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

async fn make(kind: &Kind, recipe: &[String], workshop: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(workshop).with_context(|| format!("failed to create `{}`", workshop.display()))?;
    say(format_args!(
        "building the Debian `{}` from {} packages and what they need, once: a minute or two",
        kind.name,
        kind.packages.len()
    ));
    bootstrap("the Debian", recipe, RESULT, workshop).await?;
    Ok(workshop.join(RESULT))
}
