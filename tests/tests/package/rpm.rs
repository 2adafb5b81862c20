//! The package: its life in a root of its own, and what rpmlint thinks of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use anyhow::Context;
use dynk8s_lab::host::command::run;
use dynk8s_lab::product::BUILT_AT;

use crate::root::Root;
use crate::{debian, packaging, workspace};

const ONE_LINE_MORE: &str = "\n# One line more.\n";
const CONFIGURATION: &str = "/etc/dynk8s/agent.toml";
/// rpmlint may be told of this many things that are as they should be.
const MOST_FILTERS: usize = 5;

type Made = Result<PathBuf, String>;

/// The package, as `make rpm` makes it.
pub(crate) fn package() -> anyhow::Result<&'static Path> {
    static PACKAGE: LazyLock<Made> = LazyLock::new(|| make(&[]).map_err(|error| format!("{error:#}")));
    PACKAGE.as_deref().map_err(anyhow::Error::msg)
}

/// A later version of it, with another default configuration.
fn later() -> anyhow::Result<&'static Path> {
    static LATER: LazyLock<Made> = LazyLock::new(|| make_later().map_err(|error| format!("{error:#}")));
    LATER.as_deref().map_err(anyhow::Error::msg)
}

fn make_later() -> anyhow::Result<PathBuf> {
    // One after the other, for they share a folder.
    package()?;
    let folder = tempfile::tempdir()?;
    let configuration = folder.path().join("agent.toml");
    let default = fs::read_to_string(packaging("etc/agent.toml"))?;
    fs::write(&configuration, format!("{default}{ONE_LINE_MORE}"))?;
    make(&["VERSION=999.0.0", &format!("CONFIGURATION={}", configuration.display())])
}

fn make(variables: &[&str]) -> anyhow::Result<PathBuf> {
    let mut command = Command::new("make");
    command.args(["--no-print-directory", "rpm", BUILT_AT]).args(variables);
    let printed = run(command.current_dir(workspace()))?;
    printed
        .lines()
        .last()
        .map(PathBuf::from)
        .context("`make rpm` says nothing")
}

/// What a package goes through, by these three steps.
fn live(
    root: &Root,
    install: impl Fn(&Path) -> anyhow::Result<String>,
    upgrade: impl Fn(&Path) -> anyhow::Result<String>,
    erase: impl Fn() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let before = root.content()?;
    install(package()?)?;
    assert_eq!(root.told(), ["--no-reload preset dynk8s-agent.service"]);
    assert_eq!(root.rpm(&["--verify", "dynk8s-agent"], None)?, "");
    let version = run(Command::new(root.path("usr/bin/dynk8s-agent")).arg("version"))?;
    assert_eq!(version, format!("dynk8s-agent {}\n", env!("CARGO_PKG_VERSION")));

    upgrade(later()?)?;
    assert_eq!(root.told(), ["daemon-reload", "try-restart dynk8s-agent.service"]);
    assert!(root.read(CONFIGURATION)?.ends_with(ONE_LINE_MORE));

    for made_by_the_agent in [
        "var/lib/dynk8s/i-1/claim-key",
        "run/dynk8s/lock",
        "etc/dynk8s/resolv.conf",
    ] {
        let path = root.path(made_by_the_agent);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, "")?;
    }
    erase()?;
    assert_eq!(
        root.told(),
        ["--no-reload disable --now dynk8s-agent.service", "daemon-reload"]
    );
    let after = root.content()?;
    let left: Vec<_> = after.iter().filter(|it| !before.contains(it)).collect();
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn rpm_installs_upgrades_and_erases_it_and_nothing_is_left() {
    let root = Root::make(&debian().unwrap()).unwrap();
    live(
        &root,
        |package| root.rpm(&["--install"], Some(package)),
        |package| root.rpm(&["--upgrade"], Some(package)),
        || root.rpm(&["--erase", "dynk8s-agent"], None),
    )
    .unwrap();
}

#[test]
fn dnf_installs_upgrades_and_removes_it_and_nothing_is_left() {
    let debian = debian().unwrap();
    let root = Root::make(&debian).unwrap();
    live(
        &root,
        |package| root.dnf(&debian, &["install"], Some(package)),
        |package| root.dnf(&debian, &["upgrade"], Some(package)),
        || root.dnf(&debian, &["remove", "dynk8s-agent"], None),
    )
    .unwrap();
}

#[test]
fn a_configuration_of_the_users_is_kept() {
    let debian = debian().unwrap();
    let root = Root::make(&debian).unwrap();
    // As cloud-init does on a stock image: first the configuration, then the package.
    let own = "provisioner = \"https://dynk8s.onprem.example\"\n";
    fs::create_dir_all(root.path("etc/dynk8s")).unwrap();
    fs::write(root.path(CONFIGURATION), own).unwrap();
    root.rpm(&["--install"], Some(package().unwrap())).unwrap();
    assert_eq!(root.read(CONFIGURATION).unwrap(), own);

    root.rpm(&["--upgrade"], Some(later().unwrap())).unwrap();
    assert_eq!(root.read(CONFIGURATION).unwrap(), own);
    let new = root.read(&format!("{CONFIGURATION}.rpmnew")).unwrap();
    assert!(new.ends_with(ONE_LINE_MORE));

    root.rpm(&["--erase", "dynk8s-agent"], None).unwrap();
    let saved = root.read(&format!("{CONFIGURATION}.rpmsave")).unwrap();
    assert_eq!(saved, own);
}

#[test]
fn what_a_packager_expects_is_in_it() {
    let listed = run(Command::new("rpm")
        .args([
            "--query",
            "--package",
            "--queryformat",
            "[%{FILENAMES} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]",
        ])
        .arg(package().unwrap()))
    .unwrap();
    let expected = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package/content.txt")).unwrap();
    // The agent's own tests see to it that each command has a page.
    let found: Vec<_> = listed
        .lines()
        .map(str::trim_end)
        .filter(|it| !it.starts_with("/usr/share/man/man1/dynk8s-agent-"))
        .collect();
    assert_eq!(found, expected.lines().collect::<Vec<_>>());
}

#[test]
fn rpmlint_has_no_complaint() {
    let debian = debian().unwrap();
    let filters = fs::read_to_string(packaging("rpm/rpmlint.toml")).unwrap();
    let count = filters.lines().filter(|it| it.trim_start().starts_with('"')).count();
    assert!(count <= MOST_FILTERS, "{count} filters");
    let inside = Path::new("/mnt").join(package().unwrap().file_name().unwrap());
    let inside = inside.to_str().unwrap();
    let shown: [(&Path, &str); 2] = [
        (package().unwrap(), inside),
        (&packaging("rpm/rpmlint.toml"), "/mnt/rpmlint.toml"),
    ];
    let words = ["rpmlint", "--config", "/mnt/rpmlint.toml", inside];
    let said = run(&mut debian.command(&shown, &words)).unwrap();
    assert!(said.contains(" 0 errors, 0 warnings"), "{said}");
}
