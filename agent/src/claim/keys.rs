//! The keys that are drawn on this machine: the claim key, and the key of the kubelet's first certificate.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use dynk8s_api::binding::KubeletKeyHash;
use dynk8s_api::{PrivateKey, Secret};
use p256::SecretKey;
use p256::elliptic_curve::Generate as _;
use p256::pkcs8::{EncodePublicKey as _, LineEnding};
use sha2::{Digest as _, Sha256};

use crate::host::files;

/// Where the kubelet looks for a private key to ask its first certificate with
/// (`pkg/kubelet/certificate/bootstrap`). `kubeadm reset` empties the folder.
pub(crate) const KUBELET_PLACE: &str = "/var/lib/kubelet/pki/kubelet-client.key.tmp";

/// The claim key on the disk, or a new one, on the disk before this returns.
pub(super) fn claim_key(path: &Path) -> anyhow::Result<PrivateKey> {
    if let Some(text) = files::read(path)? {
        return PrivateKey::from_secret(&Secret::new(text))
            .with_context(|| format!("failed to read `{}`", path.display()));
    }
    let key = PrivateKey::generate();
    files::write(path, key.to_secret().expose().as_bytes(), files::PRIVATE)?;
    Ok(key)
}

/// The private key for which the kubelet asks its first certificate, on the curve that a kubelet would choose itself.
#[derive(Clone, Debug)]
pub(crate) struct KubeletKey {
    pem: Secret,
    hash: KubeletKeyHash,
}

impl KubeletKey {
    /// The key on the disk, or a new one, on the disk before this returns.
    pub(crate) fn load_or_draw(path: &Path) -> anyhow::Result<Self> {
        let named = || format!("failed to read `{}`", path.display());
        if let Some(text) = files::read(path)? {
            return Self::parse(Secret::new(text)).with_context(named);
        }
        let drawn = SecretKey::try_generate()
            .map_err(|error| anyhow!("{error}"))?
            .to_sec1_pem(LineEnding::LF)
            .map_err(|error| anyhow!("{error}"))
            .context("failed to draw the kubelet's key")?;
        files::write(path, drawn.as_bytes(), files::PRIVATE)?;
        Self::parse(Secret::new(drawn.to_string()))
    }

    /// Puts the key where the kubelet takes its first one from.
    pub(crate) fn place(&self, path: &Path) -> anyhow::Result<()> {
        files::private_folder(path.parent().unwrap_or(Path::new("/")))?;
        files::write(path, self.pem.expose().as_bytes(), files::PRIVATE)
    }

    /// The hash by which the provisioner knows the certificate request.
    pub(crate) fn hash(&self) -> &KubeletKeyHash {
        &self.hash
    }

    fn parse(pem: Secret) -> anyhow::Result<Self> {
        let key = SecretKey::from_sec1_pem(pem.expose())
            .map_err(|_| anyhow!("expected an EC private key on P-256, in PEM"))?;
        let public = key
            .public_key()
            .to_public_key_der()
            .map_err(|error| anyhow!("{error}"))?;
        let hash = Sha256::digest(public.as_bytes()).into();
        Ok(Self { pem, hash })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{KubeletKey, claim_key};

    /// Made by another program: the key, and the SHA-256 of its `SubjectPublicKeyInfo`.
    const PEM: &str = include_str!("../../testdata/kubelet-client.key");
    const HASH: &str = include_str!("../../testdata/kubelet-client.key.spki-sha256");

    #[test]
    fn the_claim_key_is_on_the_disk_and_stays_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claim.key");
        let drawn = claim_key(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(claim_key(&path).unwrap().public(), drawn.public());
    }

    #[test]
    fn a_damaged_claim_key_is_no_reason_to_draw_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claim.key");
        std::fs::write(&path, "damaged").unwrap();
        assert!(claim_key(&path).unwrap_err().to_string().contains("claim.key"));
    }

    #[test]
    fn the_kubelets_key_stays_the_same_and_is_placed_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubelet.key");
        let drawn = KubeletKey::load_or_draw(&path).unwrap();
        assert_eq!(KubeletKey::load_or_draw(&path).unwrap().hash(), drawn.hash());

        let place = folder.path().join("pki/kubelet-client.key.tmp");
        drawn.place(&place).unwrap();
        let text = std::fs::read_to_string(&place).unwrap();
        assert!(
            text.starts_with("-----BEGIN EC PRIVATE KEY-----\n"),
            "what client-go reads"
        );
        assert_eq!(place.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{drawn:?}").contains("BEGIN"));
    }

    #[test]
    fn the_hash_is_that_of_the_public_key_in_der() {
        let key = KubeletKey::parse(PEM.to_owned().into()).unwrap();
        let hash = key
            .hash()
            .iter()
            .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        assert_eq!(hash, HASH.trim());
    }
}
