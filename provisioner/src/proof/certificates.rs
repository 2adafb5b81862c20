//! The certificates that sign identity documents: those that AWS has published, and the operator's own.
//!
//! They are trusted because they are listed here, so neither their issuers nor their dates are looked at; AWS's are valid
//! for 180 years.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, Read as _};
use std::path::Path;
use std::sync::LazyLock;

use dynk8s_api::document::SignerId;
use x509_parser::oid_registry::OID_PKCS1_RSAENCRYPTION;
use x509_parser::pem::Pem;
use x509_parser::public_key::PublicKey;

use crate::aws;

mod published;

/// The longest file, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The most files.
const MOST: usize = 256;

/// The size of the one kind of key that signs these documents.
const KEY_BITS: usize = 2048;

static PUBLISHED: LazyLock<Certificates> = LazyLock::new(|| {
    let mut certificates = Certificates(BTreeMap::new());
    for (region, pem) in published::PUBLISHED {
        certificates.add(region, read(pem.as_bytes()).unwrap_or_default());
    }
    certificates
});

/// Signers by their regions.
#[derive(Clone, Debug)]
pub struct Certificates(BTreeMap<String, Vec<Signer>>);

/// Who signs documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// By what a document names him.
    pub(super) id: SignerId,
    /// DER `RSAPublicKey`.
    pub(super) key: Vec<u8>,
}

/// A file that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    pub file: String,
    pub fault: String,
}

impl Default for Certificates {
    /// Those that AWS has published.
    fn default() -> Self {
        PUBLISHED.clone()
    }
}

impl Certificates {
    /// Those of AWS and those of this folder: for each region a file `<region>.pem`, with one certificate or more.
    pub fn with_folder(folder: &Path) -> (Self, Vec<Unusable>) {
        let mut certificates = Self::default();
        let mut unusable = Vec::new();
        let names = match names(folder) {
            Ok(names) => names,
            Err(error) => {
                let fault = format!("failed to list the folder: {error}");
                return (certificates, vec![unusable_file(folder, fault)]);
            }
        };
        for name in names {
            let path = folder.join(&name);
            let region = name.strip_suffix(".pem").filter(|it| aws::is_region(it));
            let signers = region
                .ok_or_else(|| "its name must be `<region>.pem`".to_owned())
                .and_then(|region| Ok((region, read(&content(&path).map_err(|error| error.to_string())?)?)));
            match signers {
                Ok((region, signers)) => certificates.add(region, signers),
                Err(fault) => unusable.push(unusable_file(&path, fault)),
            }
        }
        (certificates, unusable)
    }

    /// Who may sign documents of this region.
    pub fn of(&self, region: &str) -> &[Signer] {
        self.0.get(region).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, region: &str, signers: Vec<Signer>) {
        self.0.entry(region.to_owned()).or_default().extend(signers);
    }
}

fn unusable_file(path: &Path, fault: String) -> Unusable {
    Unusable {
        file: path.display().to_string(),
        fault,
    }
}

/// The files in a folder. A mounted `ConfigMap` keeps links of its own there, whose names begin with a dot.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
        if names.len() > MOST {
            return Err(Error::other(format!("it has more than {MOST} files")));
        }
    }
    names.sort();
    Ok(names)
}

fn content(path: &Path) -> Result<Vec<u8>, Error> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LONGEST {
        return Err(Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(content)
}

fn read(pem: &[u8]) -> Result<Vec<Signer>, String> {
    let signers: Result<Vec<_>, _> = Pem::iter_from_buffer(pem)
        .map(|pem| signer(&pem.map_err(|_| "it is not PEM")?))
        .collect();
    let signers = signers?;
    if signers.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    Ok(signers)
}

fn signer(pem: &Pem) -> Result<Signer, &'static str> {
    if pem.label != "CERTIFICATE" {
        return Err("it holds something else than certificates");
    }
    let certificate = pem.parse_x509().map_err(|_| "what it holds is no certificate")?;
    let info = certificate.public_key();
    match info.parsed() {
        Ok(PublicKey::RSA(key))
            if info.algorithm.algorithm == OID_PKCS1_RSAENCRYPTION && key.key_size() == KEY_BITS => {}
        _ => return Err("the certificate's key is not RSA of 2048 bits"),
    }
    Ok(Signer {
        id: SignerId {
            issuer: certificate.issuer().as_raw().to_vec(),
            serial: certificate.raw_serial().to_vec(),
        },
        key: info.subject_public_key.data.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;

    use rcgen::{CertificateParams, KeyPair};
    use tempfile::TempDir;
    use test_case::test_case;

    use super::{Certificates, published};

    const PEM: &str = include_str!("../../api/testdata/identity-document.pem");

    #[test]
    fn each_published_certificate_is_one_and_of_its_own() {
        let certificates = Certificates::default();
        let keys: BTreeSet<_> = published::PUBLISHED
            .iter()
            .map(|(region, _)| {
                let signers = certificates.of(region);
                assert_eq!(signers.len(), 1, "{region}");
                &signers[0].key
            })
            .collect();
        assert_eq!(keys.len(), published::PUBLISHED.len());
        assert!(certificates.of("eu-nowhere-1").is_empty());
    }

    #[test]
    fn a_folder_adds_to_what_is_published() {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("..version")).unwrap();
        fs::write(folder.path().join("..version/eu-central-1.pem"), PEM.repeat(2)).unwrap();
        symlink("..version/eu-central-1.pem", folder.path().join("eu-central-1.pem")).unwrap();
        fs::write(folder.path().join("eu-nowhere-1.pem"), PEM).unwrap();
        let (certificates, unusable) = Certificates::with_folder(folder.path());
        assert_eq!(unusable, []);
        let count = |region| certificates.of(region).len();
        assert_eq!(
            (count("eu-central-1"), count("eu-nowhere-1"), count("us-west-2")),
            (3, 1, 1)
        );
    }

    #[test_case("frankfurt.pem", PEM, "its name must be `<region>.pem`"; "no region")]
    #[test_case("eu-central-1.crt", PEM, "its name must be `<region>.pem`"; "another ending")]
    #[test_case("eu-central-1.pem", "", "it holds no certificate"; "empty")]
    #[test_case("eu-central-1.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n", "it is not PEM"; "cut off")]
    #[test_case("eu-central-1.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "what it holds is no certificate"; "no certificate")]
    #[test_case("eu-central-1.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "it holds something else than certificates"; "a private key")]
    #[test_case("eu-central-1.pem", &"\n".repeat(70_000), "it is longer than 65536 bytes"; "too long")]
    fn says_what_is_wrong_with_a_file(name: &str, content: &str, fault: &str) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let (_, unusable) = Certificates::with_folder(folder.path());
        assert_eq!(unusable.len(), 1);
        assert_eq!(
            (unusable[0].file.as_str(), unusable[0].fault.as_str()),
            (path.to_str().unwrap(), fault)
        );
    }

    #[test]
    fn takes_only_rsa_of_2048_bits() {
        let folder = TempDir::new().unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![]).unwrap().self_signed(&key).unwrap();
        fs::write(folder.path().join("eu-central-1.pem"), certificate.pem()).unwrap();
        fs::create_dir(folder.path().join("eu-west-1.pem")).unwrap();
        let (_, unusable) = Certificates::with_folder(folder.path());
        let faults: Vec<_> = unusable.iter().map(|it| it.fault.as_str()).collect();
        assert_eq!(
            faults,
            [
                "the certificate's key is not RSA of 2048 bits",
                "it is not a regular file"
            ]
        );
        let (_, unusable) = Certificates::with_folder(&folder.path().join("absent"));
        assert!(
            unusable[0].fault.starts_with("failed to list the folder"),
            "{unusable:?}"
        );
    }
}
