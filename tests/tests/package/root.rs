//! A root file system of its own, with next to nothing in it, that packages are installed into.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dynk8s_lab::debian::Debian;
use dynk8s_lab::host::command::run;
use tempfile::TempDir;

/// Where systemd is told what to do, and how a test knows.
const SYSTEMCTL: &str = "#!/bin/sh\necho \"$*\" >> /systemctl.log\n";
const LOG: &str = "systemctl.log";

/// Those of Fedora's package `filesystem`, and of those whose files the agent's package adds to.
const FOLDERS: [&str; 13] = [
    "etc",
    "run/systemd/system",
    "usr/bin",
    "usr/lib/systemd/system-preset",
    "usr/lib/systemd/system",
    "usr/lib/tmpfiles.d",
    "usr/share/bash-completion/completions",
    "usr/share/doc",
    "usr/share/fish/vendor_completions.d",
    "usr/share/licenses",
    "usr/share/man/man1",
    "usr/share/zsh/site-functions",
    "var/tmp",
];

/// What rpm and dnf keep for themselves.
const BOOKS: [&str; 5] = [
    "./etc/dnf",
    "./var/cache",
    "./var/lib/dnf",
    "./var/lib/rpm",
    "./var/log",
];

/// What a Fedora has that the package asks for.
const FEDORA: &str = "Name: fedora
Version: 44
Release: 1
Summary: Stands for a Fedora
License: Apache-2.0
Provides: /bin/sh
Provides: ca-certificates
Provides: systemd = 259
%description
Nothing.
%files
";

pub(crate) struct Root {
    folder: TempDir,
}

impl Root {
    /// With a shell, a systemd that only listens, and what the package requires.
    pub(crate) fn make(debian: &Debian) -> anyhow::Result<Self> {
        let root = Self {
            folder: tempfile::tempdir()?,
        };
        for folder in FOLDERS {
            fs::create_dir_all(root.path(folder))?;
        }
        symlink("usr/bin", root.path("bin"))?;
        fs::copy(debian.path("/usr/bin/busybox"), root.path("usr/bin/busybox"))?;
        for name in ["sh", "rm"] {
            symlink("busybox", root.path("usr/bin").join(name))?;
        }
        fs::write(root.path("usr/bin/systemctl"), SYSTEMCTL)?;
        fs::set_permissions(root.path("usr/bin/systemctl"), fs::Permissions::from_mode(0o755))?;
        let workshop = tempfile::tempdir()?;
        let spec = workshop.path().join("fedora.spec");
        fs::write(&spec, FEDORA)?;
        let topdir = format!("_topdir {}", workshop.path().display());
        run(Command::new("rpmbuild")
            .args(["-bb", "--quiet", "--define", &topdir])
            .arg(&spec))?;
        let built = workshop.path().join("RPMS").join(std::env::consts::ARCH);
        root.rpm(
            &["--install"],
            Some(&built.join(format!("fedora-44-1.{}.rpm", std::env::consts::ARCH))),
        )?;
        Ok(root)
    }

    /// Runs rpm on this root.
    pub(crate) fn rpm(&self, words: &[&str], package: Option<&Path>) -> anyhow::Result<String> {
        run(Command::new("rpm")
            .arg("--root")
            .arg(self.folder.path())
            .args(["--dbpath", "/var/lib/rpm"])
            .args(words)
            .args(package))
    }

    /// Runs dnf on this root.
    pub(crate) fn dnf(&self, debian: &Debian, words: &[&str], package: Option<&Path>) -> anyhow::Result<String> {
        let folder = package.and_then(Path::parent).unwrap_or(Path::new("/mnt"));
        let shown = [(self.folder.path(), "/mnt/root"), (folder, "/mnt/packages")];
        let name = package.and_then(Path::file_name).and_then(OsStr::to_str);
        let name = name.map_or_else(String::new, |it| format!("/mnt/packages/{it}"));
        // Debian's rpm keeps its books elsewhere.
        let script = "echo '%_dbpath /var/lib/rpm' > ~/.rpmmacros; exec dnf --assumeyes --installroot=/mnt/root \
            --releasever=44 --setopt=reposdir=/none --setopt=gpgcheck=0 \"$@\"";
        let mut all = vec!["sh", "-ec", script, "sh"];
        all.extend(words);
        all.extend(package.is_some().then_some(name.as_str()));
        run(&mut debian.command(&shown, &all))
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside.trim_start_matches('/'))
    }

    pub(crate) fn read(&self, inside: &str) -> std::io::Result<String> {
        fs::read_to_string(self.path(inside))
    }

    /// What systemd has been told since the last question.
    pub(crate) fn told(&self) -> Vec<String> {
        let said = self.read(LOG).unwrap_or_default();
        let _none_yet = fs::remove_file(self.path(LOG));
        said.lines().map(ToOwned::to_owned).collect()
    }

    /// All that is there beside what rpm and dnf keep for themselves.
    pub(crate) fn content(&self) -> anyhow::Result<Vec<String>> {
        let listed = run(Command::new("find").arg(".").current_dir(self.folder.path()))?;
        let content = listed
            .lines()
            .filter(|it| !BOOKS.iter().any(|books| it.starts_with(books)));
        Ok(content.map(ToOwned::to_owned).collect())
    }
}
