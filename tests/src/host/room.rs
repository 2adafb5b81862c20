//! A file tree and a network of its own for a program that believes to be alone on a machine.
//!
//! The tree is the host's, seen through an overlay: whatever is written stays in the lab. It outlives the processes in it, so an
//! agent can be killed and started again as after a crash.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::Context;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, chroot};

use super::containment::SCRATCH;
use super::namespace::{self, Namespace};
use super::process::Spawn;

/// A machine without a machine, taken apart on drop.
#[derive(Debug)]
pub struct Room {
    namespace: Arc<Namespace>,
    root: PathBuf,
}

impl Room {
    /// Makes the room in a namespace; `name` must not be in use.
    pub fn furnish(name: &str, namespace: Arc<Namespace>) -> anyhow::Result<Self> {
        let home = Path::new(SCRATCH).join("rooms").join(name);
        let root = home.join("root");
        for folder in ["root", "upper", "work"] {
            fs::create_dir_all(home.join(folder)).with_context(|| format!("failed to create `{}`", home.display()))?;
        }
        overlay(&home).with_context(|| format!("failed to mount an overlay of `/` at `{}`", root.display()))?;
        let furnished = Self { namespace, root };
        furnished
            .mount_system()
            .with_context(|| format!("failed to furnish room `{name}`"))?;
        Ok(furnished)
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `work` on a thread inside: its paths and its sockets are the room's.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        namespace::on_thread(|| {
            enter(self.namespace.path(), &self.root)?;
            Ok(work())
        })
    }

    /// Starts processes inside; their programs are looked up there.
    pub fn spawner(&self) -> Spawn {
        let (network, root) = (self.namespace.path().to_owned(), self.root.clone());
        Arc::new(move |mut command| {
            namespace::on_thread(|| {
                enter(&network, &root)?;
                command.spawn()
            })
        })
    }

    /// Runs a program inside to its end; its standard output.
    pub fn output(&self, mut command: Command) -> anyhow::Result<String> {
        self.run(move || super::command::run(&mut command))
            .context("failed to enter the room")?
    }

    /// Writes a file inside, with its folders; a symbolic link in its place is replaced, never followed.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]> + Send, mode: u32) -> anyhow::Result<()> {
        let write = || {
            let path = Path::new(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            if path.is_symlink() {
                fs::remove_file(path)?;
            }
            fs::write(path, content)?;
            fs::set_permissions(path, Permissions::from_mode(mode))
        };
        self.run(write)
            .and_then(|written| written)
            .with_context(|| format!("failed to write `{path}` in a room"))
    }

    pub fn read(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        self.run(|| fs::read(path))
            .and_then(|read| read)
            .with_context(|| format!("failed to read `{path}` in a room"))
    }

    pub fn read_text(&self, path: &str) -> anyhow::Result<String> {
        String::from_utf8(self.read(path)?).with_context(|| format!("failed to read `{path}` in a room as text"))
    }

    pub fn exists(&self, path: &str) -> io::Result<bool> {
        self.run(|| Path::new(path).exists())
    }

    /// Takes away what the host has there, so that the program finds a machine that never had it.
    pub fn remove(&self, path: &str) -> anyhow::Result<()> {
        let remove = || match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        self.run(remove)
            .and_then(|removed| removed)
            .with_context(|| format!("failed to remove `{path}` in a room"))
    }

    /// Copies a program of the host into the room.
    pub fn install(&self, program: &Path, path: &str) -> anyhow::Result<()> {
        let content = fs::read(program).with_context(|| format!("failed to read `{}`", program.display()))?;
        self.write(path, content, 0o755)
    }

    fn mount_system(&self) -> anyhow::Result<()> {
        let none: Option<&str> = None;
        let rbind = MsFlags::MS_BIND | MsFlags::MS_REC;
        for folder in ["proc", "dev"] {
            mount(
                Some(&Path::new("/").join(folder)),
                &self.root.join(folder),
                none,
                rbind,
                none,
            )
            .with_context(|| format!("failed to bind `/{folder}`"))?;
        }
        for folder in ["run", "tmp"] {
            mount(
                Some("tmpfs"),
                &self.root.join(folder),
                Some("tmpfs"),
                MsFlags::empty(),
                none,
            )
            .with_context(|| format!("failed to mount `/{folder}`"))?;
        }
        let sys = self.root.join("sys");
        // A sysfs shows the interfaces of the namespace it was mounted from.
        self.namespace
            .run(|| mount(Some("sysfs"), &sys, Some("sysfs"), MsFlags::empty(), none))?
            .context("failed to mount `/sys`")?;
        mount(Some("/sys/fs/cgroup"), &sys.join("fs/cgroup"), none, rbind, none)
            .context("failed to bind `/sys/fs/cgroup`")?;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = umount2(&self.root, MntFlags::MNT_DETACH) {
            tracing::warn!("failed to unmount `{}`: {error}", self.root.display());
        }
        if let Some(home) = self.root.parent() {
            let _ = fs::remove_dir_all(home);
        }
    }
}

/// Moves the calling thread into the network and the file tree of a room.
fn enter(network: &Path, root: &Path) -> io::Result<()> {
    namespace::enter(network)?;
    unshare(CloneFlags::CLONE_FS)?;
    chroot(root)?;
    chdir("/")?;
    Ok(())
}

fn overlay(home: &Path) -> anyhow::Result<()> {
    let [root, upper, work] = ["root", "upper", "work"].map(|folder| home.join(folder));
    let mut options = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
    if !owns_all_users()? {
        options.push_str(",userxattr");
    }
    mount(
        Some("overlay"),
        &root,
        Some("overlay"),
        MsFlags::empty(),
        Some(options.as_str()),
    )?;
    Ok(())
}

/// Whether this is the host's user namespace, where an overlay may keep its marks in trusted attributes.
fn owns_all_users() -> anyhow::Result<bool> {
    let map = fs::read_to_string("/proc/self/uid_map").context("failed to read `/proc/self/uid_map`")?;
    Ok(map.split_whitespace().eq(["0", "0", "4294967295"]))
}
