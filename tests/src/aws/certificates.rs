//! A certificate authority of the lab's own, and what it vouches for: the names of AWS' services and of our public endpoint.

use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256,
};
use rsa::PrivateKey;
use rsa::pkcs8::EncodePrivateKey;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority that clients trust when they are given its certificate.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().context("failed to generate a key for a certificate authority")?;
        let certificate = params
            .self_signed(&key)
            .context("failed to sign a certificate authority's certificate")?;
        Ok(Self {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    /// The certificate that clients must trust.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Trusts this authority and no other.
    pub fn client(&self) -> anyhow::Result<reqwest::ClientBuilder> {
        let root =
            reqwest::Certificate::from_pem(self.pem().as_bytes()).context("failed to read our own certificate")?;
        // The process may have chosen a provider already, and then it stays.
        let _ = ring::default_provider().install_default();
        Ok(reqwest::Client::builder().tls_certs_only([root]).no_proxy())
    }

    /// What a TLS server that is known by these names shows.
    pub fn identity(&self, names: &[&str]) -> anyhow::Result<Arc<ServerConfig>> {
        let key = KeyPair::generate().context("failed to generate a key for a server")?;
        let certificate = self.leaf(names, &key)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![certificate.der().clone()], private)
            })
            .with_context(|| format!("failed to set up TLS for {names:?}"))?;
        Ok(Arc::new(config))
    }

    /// A certificate for a signer of messages, with its RSA key as AWS' signers have it.
    pub fn signer(&self, name: &str, key: &PrivateKey) -> anyhow::Result<Certificate> {
        let document = key.to_pkcs8_der().context("failed to encode a signer's key")?;
        let document = PrivatePkcs8KeyDer::from(document.as_bytes());
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&document, &PKCS_RSA_SHA256)
            .context("failed to use a signer's key")?;
        self.leaf(&[name], &key)
    }

    fn leaf(&self, names: &[&str], key: &KeyPair) -> anyhow::Result<Certificate> {
        let owned: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params =
            CertificateParams::new(owned).with_context(|| format!("failed to name a certificate {names:?}"))?;
        if let Some(&name) = names.first() {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let now = std::time::SystemTime::now();
        params.not_before = (now - std::time::Duration::from_hours(24)).into();
        params.not_after = (now + std::time::Duration::from_hours(24 * 90)).into();
        params
            .signed_by(key, &self.issuer)
            .with_context(|| format!("failed to sign a certificate for {names:?}"))
    }
}
