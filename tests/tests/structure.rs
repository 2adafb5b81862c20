//! The dependency rules of ARCHITECTURE.md, held against what Cargo and the sources say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, NodeDep};

/// What does I/O, keeps a clock, or is a runtime.
const RIM: [&str; 12] = [
    "aws-config",
    "axum",
    "hyper",
    "kube",
    "mio",
    "nix",
    "reqwest",
    "rtnetlink",
    "rustix",
    "socket2",
    "tokio",
    "zbus",
];

fn metadata() -> anyhow::Result<Metadata> {
    let options = ["--locked".to_owned(), "--offline".to_owned()];
    Ok(MetadataCommand::new().other_options(options).exec()?)
}

/// Everything that a package is built from, itself included, without what only its tests or build scripts use.
fn closure(metadata: &Metadata, root: &str) -> anyhow::Result<BTreeSet<String>> {
    let resolve = metadata.resolve.as_ref().context("the metadata are not resolved")?;
    let node = |id| resolve.nodes.iter().find(|it| &it.id == id);
    let packages = metadata.workspace_packages();
    let member = packages.iter().find(|it| it.name == root).context("no such member")?;
    let mut open: Vec<_> = node(&member.id).into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(next) = open.pop() {
        if !seen.insert(metadata[&next.id].name.to_string()) {
            continue;
        }
        let normal = |it: &&NodeDep| it.dep_kinds.iter().any(|it| it.kind == DependencyKind::Normal);
        open.extend(next.deps.iter().filter(normal).filter_map(|it| node(&it.pkg)));
    }
    Ok(seen)
}

fn sources(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

#[test]
fn the_api_does_no_io_and_has_no_runtime() {
    let dependencies = closure(&metadata().unwrap(), "dynk8s-api").unwrap();
    let rim: Vec<_> = RIM.iter().filter(|it| dependencies.contains(**it)).collect();
    assert!(rim.is_empty(), "dynk8s-api depends on {rim:?}");
}

#[test]
fn agent_and_provisioner_meet_only_in_the_api() {
    let metadata = metadata().unwrap();
    let members: BTreeSet<String> = metadata
        .workspace_packages()
        .iter()
        .map(|it| it.name.to_string())
        .collect();
    for root in ["dynk8s-agent", "dynk8s-provisioner"] {
        let own: BTreeSet<_> = closure(&metadata, root)
            .unwrap()
            .intersection(&members)
            .cloned()
            .collect();
        assert_eq!(own, BTreeSet::from([root.to_owned(), "dynk8s-api".to_owned()]));
    }
}

#[test]
fn decisions_import_no_io() {
    let root = metadata().unwrap().workspace_root.into_std_path_buf();
    let decisions: Vec<_> = ["agent/src", "provisioner/src"]
        .iter()
        .flat_map(|it| sources(&root.join(it)).unwrap())
        // A file of such a name, and everything in a folder of such a name but its tests.
        .filter(|path| {
            // Where the repository lies says nothing.
            let inside = path.strip_prefix(&root).unwrap();
            let names: Vec<_> = inside
                .iter()
                .filter_map(|it| Path::new(it).file_stem()?.to_str())
                .collect();
            names.iter().any(|it| ["plan", "decide", "render"].contains(it)) && !names.contains(&"tests")
        })
        .collect();
    assert!(decisions.len() >= 10, "there are decisions to look at: {decisions:?}");
    for path in decisions {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let banned = [
                "tokio::",
                "kube::",
                "reqwest::",
                "axum::",
                "nix::",
                "std::fs",
                "std::process",
                "std::net::Tcp",
                "SystemTime::now",
                "Timestamp::now",
                "Utc::now",
                "crate::host",
            ];
            let found = banned.iter().find(|it| line.contains(**it));
            assert!(found.is_none(), "{}:{number} uses {}", path.display(), found.unwrap());
        }
    }
}

#[test]
fn the_users_crates_are_in_use() {
    let metadata = metadata().unwrap();
    let used: BTreeSet<_> = ["dynk8s-agent", "dynk8s-provisioner"]
        .iter()
        .flat_map(|root| {
            &metadata
                .packages
                .iter()
                .find(|it| it.name == *root)
                .unwrap()
                .dependencies
        })
        .map(|it| it.name.clone())
        .collect();
    for chosen in [
        "tokio",
        "reqwest",
        "serde",
        "toml",
        "wireguard-control",
        "rtnetlink",
        "nix",
        "sd-notify",
        "anyhow",
        "aws-config",
    ] {
        assert!(used.contains(chosen), "{chosen}");
    }
}

#[test]
fn one_lint_table_holds_everywhere() {
    let metadata = metadata().unwrap();
    for package in metadata.workspace_packages() {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{}",
            package.manifest_path
        );
    }
    let root = fs::read_to_string(metadata.workspace_root.join("Cargo.toml")).unwrap();
    assert!(root.contains("unsafe_code = \"forbid\""));
}

#[test]
fn each_attack_on_paper_has_its_test() {
    let root = metadata().unwrap().workspace_root.into_std_path_buf();
    let text = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let section = text
        .split("## Attacks, ")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let rows: Vec<_> = section.lines().filter(|it| it.starts_with("| ")).skip(2).collect();
    assert!(rows.len() >= 12, "{rows:?}");
    for row in rows {
        let column = row.split(" | ").nth(1).unwrap();
        for test in column.split('`').filter(|it| it.contains("::")) {
            let (file, name) = test.split_once("::").unwrap();
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            assert!(source.contains(&format!("fn {name}(")), "{row}");
        }
        assert!(column.contains("::"), "{row}");
    }
}
