//! What outlives a reboot: `/var/lib/dynk8s/<instance id>`, so that an image made from a booted machine starts clean.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dynk8s_api::claim::{ClaimAnswer, Cluster};
use dynk8s_api::{InstanceId, Secret};

use crate::host::files;

/// The folder of all instances that this disk ever was.
pub(crate) const BASE: &str = "/var/lib/dynk8s";

/// The folder of one instance.
#[derive(Clone, Debug)]
pub(crate) struct State {
    folder: PathBuf,
}

/// The instances that this disk was or is, by their folders.
pub(crate) fn instances(base: &Path) -> anyhow::Result<Vec<InstanceId>> {
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("failed to list `{}`", base.display()))?,
    };
    let names = entries.flatten().filter_map(|it| it.file_name().into_string().ok());
    Ok(names.filter_map(|it| it.parse().ok()).collect())
}

/// What a node that has joined needs to be brought back after a reboot.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) wireguard: Secret,
    pub(crate) cluster: Cluster,
}

impl State {
    /// Opens the folder of this instance, and makes it if it is not there.
    pub(crate) fn open(base: &Path, id: &InstanceId) -> anyhow::Result<Self> {
        let state = Self::at(base, id);
        files::private_folder(&state.folder)?;
        Ok(state)
    }

    /// The folder of this instance, whether or not it is there.
    pub(crate) fn at(base: &Path, id: &InstanceId) -> Self {
        let folder = base.join(id.as_str());
        Self { folder }
    }

    pub(crate) fn claim_key(&self) -> PathBuf {
        self.folder.join("claim.key")
    }

    pub(crate) fn kubelet_key(&self) -> PathBuf {
        self.folder.join("kubelet.key")
    }

    /// What the host's names were before the agent changed them.
    pub(crate) fn names(&self) -> PathBuf {
        self.folder.join("names.json")
    }

    /// Keeps what was handed out, except the token, which is good for one join.
    pub(crate) fn keep(&self, answer: &ClaimAnswer) -> anyhow::Result<()> {
        let cluster = serde_json::to_vec(&answer.cluster).context("failed to write the cluster down")?;
        files::write(&self.wireguard(), answer.wireguard.expose().as_bytes(), files::PRIVATE)?;
        files::write(&self.cluster(), &cluster, files::PRIVATE)?;
        files::write(
            &self.generation(),
            answer.generation.to_string().as_bytes(),
            files::PRIVATE,
        )
    }

    /// What was kept, if all of it is there.
    pub(crate) fn kept(&self) -> anyhow::Result<Option<Kept>> {
        let (Some(wireguard), Some(cluster)) = (files::read(&self.wireguard())?, files::read(&self.cluster())?) else {
            return Ok(None);
        };
        let cluster =
            serde_json::from_str(&cluster).with_context(|| format!("failed to read `{}`", self.cluster().display()))?;
        Ok(Some(Kept {
            wireguard: Secret::new(wireguard),
            cluster,
        }))
    }

    /// Notes that what the last claim brought has been reset, before the next one asks for more, and brings it again. A
    /// kubelet's credentials that are found from now on come from no join that succeeded.
    pub(crate) fn note_reset(&self) -> anyhow::Result<()> {
        for path in [self.joined(), self.wireguard(), self.cluster()] {
            files::remove(&path)?;
        }
        match files::read(&self.generation())? {
            Some(generation) => files::write(&self.reset(), generation.as_bytes(), files::PRIVATE),
            None => Ok(()),
        }
    }

    /// The generation of the last claim, if it has been reset since.
    pub(crate) fn spent(&self) -> anyhow::Result<Option<u32>> {
        let (last, reset) = (files::read(&self.generation())?, files::read(&self.reset())?);
        Ok(last
            .filter(|it| Some(it) == reset.as_ref())
            .and_then(|text| text.trim().parse().ok()))
    }

    /// Whether a join has succeeded on this machine.
    pub(crate) fn has_joined(&self) -> bool {
        self.joined().exists()
    }

    /// Notes that a join has succeeded.
    pub(crate) fn note_joined(&self) -> anyhow::Result<()> {
        files::write_if_changed(&self.joined(), b"", files::PRIVATE).map(|_| ())
    }

    /// Notes that the kubelet starts at boot because of the agent.
    pub(crate) fn note_kubelet_enabled(&self) -> anyhow::Result<()> {
        files::write_if_changed(&self.kubelet_enabled(), b"", files::PRIVATE).map(|_| ())
    }

    /// Whether the kubelet starts at boot because of the agent.
    pub(crate) fn has_enabled_kubelet(&self) -> bool {
        self.kubelet_enabled().exists()
    }

    /// Notes that the kubelet is as it was before the agent.
    pub(crate) fn note_kubelet_as_before(&self) -> anyhow::Result<()> {
        files::remove(&self.kubelet_enabled())
    }

    /// Forgets the keys and notes of every other instance that this disk was, for it came from an image of a machine that had
    /// booted. What the host was before the agent is true of this one as well, and stays. Tells whose they were.
    pub(crate) fn forget_others(&self, base: &Path) -> anyhow::Result<Vec<InstanceId>> {
        let mut forgotten = Vec::new();
        for id in instances(base)? {
            let other = Self::at(base, &id);
            if other.folder != self.folder && other.forget()? {
                forgotten.push(id);
            }
        }
        Ok(forgotten)
    }

    fn forget(&self) -> anyhow::Result<bool> {
        let own = [
            self.claim_key(),
            self.kubelet_key(),
            self.wireguard(),
            self.cluster(),
            self.generation(),
            self.reset(),
            self.joined(),
        ];
        let there: Vec<&PathBuf> = own.iter().filter(|it| it.exists()).collect();
        there.iter().try_for_each(|it| files::remove(it))?;
        Ok(!there.is_empty())
    }

    fn kubelet_enabled(&self) -> PathBuf {
        self.folder.join("kubelet-enabled")
    }

    fn wireguard(&self) -> PathBuf {
        self.folder.join("wireguard.conf")
    }

    fn cluster(&self) -> PathBuf {
        self.folder.join("cluster.json")
    }

    fn generation(&self) -> PathBuf {
        self.folder.join("generation")
    }

    fn reset(&self) -> PathBuf {
        self.folder.join("reset")
    }

    fn joined(&self) -> PathBuf {
        self.folder.join("joined")
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder.display())
    }
}

#[cfg(test)]
mod tests;
