//! A Debian of its own, made once and kept, whose programs judge what is packaged here.
//!
//! Those of the host may be missing, or older than what they would judge.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::host::cache;
use crate::host::process::last_lines;
use crate::host::progress::{narrate, say};
use crate::machine::image::sources::{SUITE, mmdebstrap};

const PACKAGES: [&str; 6] = [
    "busybox-static",
    "cloud-init",
    "rpm",
    "rpmlint",
    "shellcheck",
    "systemd",
];
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
    pub async fn ensure() -> anyhow::Result<Self> {
        let root = cache::folder("debian", &format!("{SUITE}-{}", PACKAGES.join("-")), make).await?;
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
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Where a file of it is on the host.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside.trim_start_matches('/'))
    }
}

async fn make(workshop: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(workshop).with_context(|| format!("failed to create `{}`", workshop.display()))?;
    say("building a Debian with the programs that judge packages, once: a minute or two, and 100 MB to fetch");
    let mut recipe: Vec<_> = ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*"]
        .map(|excluded| format!("--dpkgopt=path-exclude={excluded}"))
        .into();
    recipe.extend(["--variant=apt", "--format=directory"].map(ToOwned::to_owned));
    recipe.push(format!("--include={}", PACKAGES.join(",")));
    let log = workshop.join("log");
    let messages = File::create(&log).with_context(|| format!("failed to create `{}`", log.display()))?;
    let mut command = mmdebstrap(&recipe, RESULT).await;
    command
        .current_dir(workshop)
        .stdin(Stdio::null())
        .stdout(messages.try_clone()?)
        .stderr(messages)
        .kill_on_drop(true);
    let status = narrate("building the Debian", command.status())
        .await
        .context("failed to start `mmdebstrap`: is it installed?")?;
    if !status.success() {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!(
            "failed to build it ({status}), `mmdebstrap` ends with:\n{}",
            last_lines(&said, 20)
        );
    }
    Ok(workshop.join(RESULT))
}
