//! The image that a user makes of Fedora's, made here of ours: the agent's package is installed in it by rpm, and nothing is copied
//! into what starts from it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::archive::{self, File};
use super::image::Image;
use super::qemu::{self, Files};
use crate::host::command;
use crate::host::process::{here, last_lines, run};

/// The image's own: see `tests/image/rootfs/boot/package.sh`.
const PROGRAM: &str = "/boot/package.sh";
const DONE: &str = "the package is installed";
const MEMORY: u32 = 512;
const WITHIN: Duration = Duration::from_mins(2);

/// What goes into it beside the package.
#[derive(Debug, Clone)]
pub struct Content {
    /// The authority that all its programs trust beside those of the world, PEM.
    pub authority: String,
    /// `/etc/dynk8s/agent.toml`, if the image shall know its provisioner.
    pub configuration: Option<String>,
}

/// Makes the image in a folder of its own, which must stay as long as the image is used.
pub async fn image(from: &Image, package: &Path, content: Content, folder: &Path) -> anyhow::Result<Image> {
    let making = make(from, package, content, folder).await;
    making.with_context(|| format!("failed to make an image with the package `{}`", package.display()))
}

async fn make(from: &Image, package: &Path, content: Content, folder: &Path) -> anyhow::Result<Image> {
    fs::create_dir_all(folder)?;
    let files = Files::below(folder);
    command::run(&mut qemu::make_disk(from, &files))?;
    let mut given = vec![
        File::new("/boot/dynk8s-agent.rpm", 0o644, fs::read(package)?),
        File::new("/boot/ca.pem", 0o644, content.authority),
    ];
    if let Some(configuration) = content.configuration {
        given.push(File::new("/boot/agent.toml", 0o644, configuration));
    }
    let mut initrd = fs::read(&from.initrd)?;
    archive::write(&given, "machine", &mut initrd)?;
    fs::write(&files.initrd, initrd)?;
    run(qemu::alone(from, MEMORY, PROGRAM, &files), b"", WITHIN, &here()).await?;
    let console = fs::read(&files.console).unwrap_or_default();
    let console = String::from_utf8_lossy(&console);
    ensure!(
        console.contains(DONE),
        "the machine that installs it ends with:\n{}",
        last_lines(&console, 20)
    );
    Ok(Image {
        disk: files.disk,
        ..from.clone()
    })
}
