//! The disk image that all machines start from: a Debian with containerd, kubelet and kubeadm, built here and kept.

mod build;
mod content;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::accelerator::Accelerator;
use super::archive;
use crate::host::cache;
use crate::programs::Programs;

const DISK: &str = "disk.qcow2";
const INITRD: &str = "initrd";
const KERNEL: &str = "vmlinuz";

/// The files of an image, which no machine changes, and how machines run here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Image {
    pub disk: PathBuf,
    pub initrd: PathBuf,
    pub kernel: PathBuf,
    pub accelerator: Accelerator,
}

/// Finds the image, and builds it if it is not there.
///
/// Building needs the network, so this comes before the lab enters a network namespace of its own.
pub async fn ensure(programs: &Programs) -> anyhow::Result<Image> {
    let mut archive = Vec::new();
    archive::write(&content::files(programs)?, "", &mut archive)?;
    let key = content::cache_key(&archive)?;
    let folder = cache::folder("images", &key, async |workshop| build::image(workshop, &archive).await).await?;
    let kernel = folder.join(KERNEL);
    Ok(Image {
        disk: folder.join(DISK),
        initrd: folder.join(INITRD),
        accelerator: Accelerator::probe(&kernel).await,
        kernel,
    })
}
