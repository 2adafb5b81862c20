//! How the instances of a node group prove themselves.

use std::path::PathBuf;

use serde::Deserialize;

use super::Fault;
use crate::proof::certificates::{Certificates, Signer};

/// What holds for proofs of all groups.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Proof {
    /// A folder of certificates, `<region>.pem`, that sign identity documents beside those that AWS has published and
    /// that are built in.
    pub certificates: Option<PathBuf>,
    /// What is built in, and what the folder holds once it was read.
    #[serde(skip)]
    trusted: Certificates,
}

impl Proof {
    /// Reads the folder. What cannot be used of it is a fault.
    pub(super) fn read_folder(&mut self) -> Vec<Fault> {
        let Some(folder) = &self.certificates else {
            return Vec::new();
        };
        let (trusted, unusable) = Certificates::with_folder(folder);
        self.trusted = trusted;
        let fault = |file, fault| Fault {
            place: "proof.certificates".to_owned(),
            fault: format!("`{file}`: {fault}"),
        };
        unusable.into_iter().map(|it| fault(it.file, it.fault)).collect()
    }

    /// Who may sign identity documents of this region.
    pub fn signers(&self, region: &str) -> &[Signer] {
        self.trusted.of(region)
    }

    #[cfg(test)]
    pub(crate) fn trust(&mut self, certificates: Certificates) {
        self.trusted = certificates;
    }
}

/// What an instance must prove itself by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofMode {
    /// By STS and by its identity document.
    #[default]
    Both,
    /// By STS alone.
    Sts,
    /// By its identity document alone. Nothing binds it to the claim key.
    Document,
}

/// A role of an instance profile. Whoever may assume it chooses the session's name, hence the pinned id.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceRole {
    /// Its name, without its path.
    pub name: String,
    /// Its unique id, `AROA...`: a role that is made again under the same name has another.
    pub unique_id: String,
}
