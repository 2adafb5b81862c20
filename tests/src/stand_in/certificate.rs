//! The kubelet's first client certificate: asked for with the token, for the key that lies where a kubelet looks for one.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use p256::SecretKey;
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::api::Client;

const KEY: &str = "/var/lib/kubelet/pki/kubelet-client.key.tmp";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const POLL: Duration = Duration::from_millis(250);

/// Certificate and key in PEM, as the kubelet keeps them in one file.
pub(super) async fn obtain(client: &Client, node: &str, patience: Duration) -> anyhow::Result<String> {
    let key = key(Path::new(KEY))?;
    let request = request(node, &key).context("failed to make a certificate request")?;
    let created = client.create(REQUESTS, &request).await?.object();
    let created = created.context("cannot create certificate signing request")?;
    let name = created["metadata"]["name"]
        .as_str()
        .context("a request without a name")?;
    let certificate = wait(client, name, patience).await?;
    remove_first_key()?;
    Ok(format!("{certificate}{}", key.serialize_pem()))
}

fn remove_first_key() -> anyhow::Result<()> {
    match fs::remove_file(KEY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
    .with_context(|| format!("failed to remove `{KEY}`"))
}

/// The key that is there, on the curve and in the form of a kubelet, or a new one.
fn key(path: &Path) -> anyhow::Result<KeyPair> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeyPair::generate()?),
        other => other.with_context(|| format!("failed to read `{}`", path.display()))?,
    };
    let key = SecretKey::from_sec1_pem(&text).with_context(|| format!("failed to understand `{}`", path.display()))?;
    Ok(KeyPair::from_pem(&key.to_pkcs8_pem(LineEnding::LF)?)?)
}

fn request(node: &str, key: &KeyPair) -> anyhow::Result<Value> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{node}"));
    let request = params.serialize_request(key)?.pem()?;
    Ok(json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "node-csr-"},
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            // "key encipherment" is for RSA keys only.
            "usages": ["digital signature", "client auth"],
        },
    }))
}

async fn wait(client: &Client, name: &str, patience: Duration) -> anyhow::Result<String> {
    let end = Instant::now() + patience;
    let path = format!("{REQUESTS}/{name}");
    while Instant::now() < end {
        let request = client
            .get(&path)
            .await?
            .object()
            .context("failed to look at the certificate request")?;
        if let Some(certificate) = request["status"]["certificate"].as_str() {
            return Ok(String::from_utf8(BASE64_STANDARD.decode(certificate)?)?);
        }
        let conditions = request["status"]["conditions"].as_array();
        if conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Denied" || it["type"] == "Failed")) {
            bail!("certificate request `{name}` was denied");
        }
        sleep(POLL).await;
    }
    bail!("timed out waiting for the condition: certificate request `{name}` was not approved within {patience:?}")
}
