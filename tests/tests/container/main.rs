//! The provisioner's container image is what a registry and a restricted cluster take, and its SBOM names what it is made of.

mod layout;
mod sbom;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dynk8s_lab::host::command::run;
use dynk8s_lab::product;
use serde_json::json;
use tokio::sync::OnceCell;

use self::layout::{Entry, Layout};

/// Builds are one at a time.
async fn image() -> anyhow::Result<&'static Path> {
    static IMAGE: OnceCell<PathBuf> = OnceCell::const_new();
    Ok(IMAGE.get_or_try_init(product::image).await?)
}

#[tokio::test]
async fn it_runs_one_program_as_nobody_in_particular() {
    let layout = Layout::open(image().await.unwrap()).unwrap();
    let architecture = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    assert_eq!(layout.config["os"], "linux");
    assert_eq!(layout.config["architecture"], architecture);
    let config = &layout.config["config"];
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["Entrypoint"], json!(["/usr/bin/dynk8s-provisioner"]));
    assert!(config["Env"].is_null() && config["Cmd"].is_null(), "{config}");
}

#[tokio::test]
async fn it_says_what_it_is() {
    let layout = Layout::open(image().await.unwrap()).unwrap();
    let labels = &layout.config["config"]["Labels"];
    for (label, value) in [
        ("title", "dynk8s-provisioner"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("licenses", "Apache-2.0"),
        // What tests build is of one time.
        ("created", "2026-01-01T00:00:00Z"),
    ] {
        assert_eq!(labels[format!("org.opencontainers.image.{label}")], value, "{labels}");
    }
    let revision = labels["org.opencontainers.image.revision"].as_str().unwrap_or_default();
    assert!(revision.len() >= 40, "{labels}");
    assert_eq!(&layout.manifest["annotations"], labels);
    assert_eq!(layout.tag, env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn it_holds_the_program_authorities_licences_and_nothing_else() {
    let layout = Layout::open(image().await.unwrap()).unwrap();
    let files: BTreeMap<String, Entry> = layout.entries().unwrap();
    let kept: Vec<_> = files
        .iter()
        .map(|(path, it)| (it.mode.as_str(), path.as_str()))
        .collect();
    assert_eq!(
        kept,
        [
            ("drwxr-xr-x", ""),
            ("drwxr-xr-x", "etc/"),
            ("drwxr-xr-x", "etc/ssl/"),
            ("drwxr-xr-x", "etc/ssl/certs/"),
            ("-rw-r--r--", "etc/ssl/certs/ca-certificates.crt"),
            ("drwxr-xr-x", "licenses/"),
            ("-rw-r--r--", "licenses/dynk8s-provisioner"),
            ("drwxr-xr-x", "usr/"),
            ("drwxr-xr-x", "usr/bin/"),
            ("-rwxr-xr-x", "usr/bin/dynk8s-provisioner"),
        ]
    );
    assert!(files.values().all(|it| it.owner == "0/0"), "{files:?}");
}

/// There is neither a loader nor a library in it.
#[tokio::test]
async fn the_program_is_static_and_runs_alone() {
    let layout = Layout::open(image().await.unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    layout.unpack(folder.path()).unwrap();
    let program = folder.path().join("usr/bin/dynk8s-provisioner");
    let headers = run(Command::new("readelf").arg("--program-headers").arg(&program)).unwrap();
    assert!(headers.contains("LOAD") && !headers.contains("INTERP"), "{headers}");
    let inside = |words: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg("--userspec=65532:65532").arg(folder.path()).args(words);
        run(&mut command).unwrap()
    };
    let version = inside(&["/usr/bin/dynk8s-provisioner", "--version"]);
    assert_eq!(version, format!("dynk8s-provisioner {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn the_same_program_makes_the_same_digest() {
    let before = Layout::open(image().await.unwrap()).unwrap();
    let again = product::image().await.unwrap();
    let after = Layout::open(&again).unwrap();
    assert_eq!(before.digest, after.digest);
    assert!(!before.digest.is_empty());
}

#[tokio::test]
async fn the_sbom_names_what_is_linked_and_nothing_that_tests_use() {
    let named = sbom::named(image().await.unwrap()).unwrap();
    let built_from = sbom::built_from("normal").unwrap();
    assert_eq!(named, built_from);
    let with_tests = sbom::built_from("normal,dev").unwrap();
    let of_tests: Vec<_> = with_tests.difference(&named).collect();
    assert!(of_tests.iter().any(|it| it.starts_with("rcgen ")), "{of_tests:?}");
}
