//! The kubelet's certificates: the first for the API server, asked for with the token, for the key that lies where a kubelet looks for
//! one; then the one that it shows.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use p256::SecretKey;
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::api::Client;

const KEY: &str = "/var/lib/kubelet/pki/kubelet-client.key.tmp";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const POLL: Duration = Duration::from_millis(250);

/// Certificate and key in PEM, as the kubelet keeps them in one file.
pub(super) async fn obtain(client: &Client, node: &str, patience: Duration) -> anyhow::Result<String> {
    let key = key(Path::new(KEY))?;
    let wanted = Wanted {
        signer: "kubernetes.io/kube-apiserver-client-kubelet",
        usage: "client auth",
        names: Vec::new(),
    };
    let certificate = ask(client, node, &key, wanted, patience).await?;
    remove_first_key()?;
    Ok(format!("{certificate}{}", key.serialize_pem()))
}

/// A certificate for the node's own name and addresses, in PEM, and a new key.
pub(super) async fn serving(
    client: &Client,
    node: &str,
    addresses: &[IpAddr],
    patience: Duration,
) -> anyhow::Result<(String, KeyPair)> {
    let key = KeyPair::generate()?;
    let host = SanType::DnsName(node.try_into()?);
    let names = addresses.iter().map(|it| SanType::IpAddress(*it)).chain([host]);
    let wanted = Wanted {
        signer: "kubernetes.io/kubelet-serving",
        usage: "server auth",
        names: names.collect(),
    };
    let certificate = ask(client, node, &key, wanted, patience).await?;
    Ok((certificate, key))
}

struct Wanted {
    signer: &'static str,
    usage: &'static str,
    names: Vec<SanType>,
}

async fn ask(client: &Client, node: &str, key: &KeyPair, wanted: Wanted, patience: Duration) -> anyhow::Result<String> {
    let request = request(node, key, wanted).context("failed to make a certificate request")?;
    let created = client.create(REQUESTS, &request).await?.object();
    let created = created.context("cannot create certificate signing request")?;
    let name = created["metadata"]["name"]
        .as_str()
        .context("a request without a name")?;
    wait(client, name, patience).await
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

fn request(node: &str, key: &KeyPair, wanted: Wanted) -> anyhow::Result<Value> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{node}"));
    params.subject_alt_names = wanted.names;
    let request = params.serialize_request(key)?.pem()?;
    Ok(json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "node-csr-"},
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": wanted.signer,
            // "key encipherment" is for RSA keys only.
            "usages": ["digital signature", wanted.usage],
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
