//! The proof before the switch: each on-premises resolver answers for the API server's name, and what it names speaks
//! TLS with the certificate that the cluster's CA vouches for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use dynk8s_api::claim::Cluster;
use hickory_resolver::config::ResolveHosts;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use url::Url;

use crate::retry::{self, Failure, Next, Pauses};
use crate::timeline::Recorder;
use crate::uplink::lookup;

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(300),
    longest: Duration::from_secs(3),
};

const CONNECT: Duration = Duration::from_secs(5);

/// Proves every server, or says which one fails, and how.
pub(super) async fn prove(
    servers: &[IpAddr],
    cluster: &Cluster,
    deadline: Instant,
    recorder: &Recorder,
) -> anyhow::Result<()> {
    let (host, port) = host_and_port(&cluster.server)?;
    let connector = connector(&cluster.ca)?;
    for server in servers {
        let attempt = async || one(*server, &host, port, &connector).await;
        let failed = |error: &anyhow::Error| recorder.tries_again(&format!("{error:#}"));
        let outcome = retry::until(deadline, PAUSES, attempt, |_| Next::Again, failed).await;
        outcome
            .map_err(Failure::into_error)
            .with_context(|| format!("failed to prove the on-premises resolver `{server}`, so nothing was switched"))?;
    }
    Ok(())
}

/// Asks one server once: it answers for the API server's name, and what it names is the API server.
pub(crate) async fn proven(server: IpAddr, cluster: &Cluster) -> anyhow::Result<()> {
    let (host, port) = host_and_port(&cluster.server)?;
    one(server, &host, port, &connector(&cluster.ca)?).await
}

/// Makes sure that what listens at an address is an API server of the cluster.
pub(crate) async fn is_api_server(address: SocketAddr, cluster: &Cluster) -> anyhow::Result<()> {
    let (host, _) = host_and_port(&cluster.server)?;
    reach(address.ip(), &host, address.port(), &connector(&cluster.ca)?).await
}

async fn one(server: IpAddr, host: &str, port: u16, connector: &TlsConnector) -> anyhow::Result<()> {
    let addresses = match host.parse() {
        Ok(address) => vec![address],
        Err(_) => lookup(&[server], host, ResolveHosts::Never)
            .await
            .context("check that it answers the tunnel's network, and that `AllowedIPs` covers it")?,
    };
    let mut last = anyhow!("the answer names no address");
    for address in addresses {
        match reach(address, host, port, connector).await {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn reach(address: IpAddr, host: &str, port: u16, connector: &TlsConnector) -> anyhow::Result<()> {
    let shaken = timeout(CONNECT, handshake(address, host, port, connector)).await;
    shaken.unwrap_or_else(|_| {
        bail!(
            "the API server `{host}` at {address}:{port} does not answer through the tunnel (check `AllowedIPs`, the route \
             back to the tunnel's network, and the tunnel's MTU)"
        )
    })
}

async fn handshake(address: IpAddr, host: &str, port: u16, connector: &TlsConnector) -> anyhow::Result<()> {
    let failed = |what: &str| format!("failed to {what} the API server `{host}` at {address}:{port}");
    let stream = TcpStream::connect((address, port))
        .await
        .with_context(|| failed("connect to"))?;
    let name = ServerName::try_from(host.to_owned()).with_context(|| failed("name"))?;
    let verified = connector.connect(name, stream).await;
    verified
        .with_context(|| failed("verify, with the cluster's CA,"))
        .map(|_| ())
}

fn host_and_port(server: &str) -> anyhow::Result<(String, u16)> {
    let url: Url = server
        .parse()
        .with_context(|| format!("failed to read the API server's URL `{server}`"))?;
    let port = url.port_or_known_default().unwrap_or(443);
    match url.host() {
        Some(url::Host::Ipv6(address)) => Ok((address.to_string(), port)),
        Some(host) if url.scheme() == "https" => Ok((host.to_string(), port)),
        _ => bail!("failed to read the API server's URL `{server}`: it must begin with https:// and name a host"),
    }
}

fn connector(ca: &str) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        let certificate = certificate
            .map_err(|error| anyhow!("{error}"))
            .context("failed to read the cluster's CA")?;
        roots.add(certificate).context("failed to use the cluster's CA")?;
    }
    if roots.is_empty() {
        bail!("failed to read the cluster's CA: it holds no certificate");
    }
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{connector, host_and_port};

    #[test_case("https://api.onprem.example:6443", Some(("api.onprem.example", 6443)); "a name and a port")]
    #[test_case("https://192.168.10.10", Some(("192.168.10.10", 443)); "an address")]
    #[test_case("https://[fd00::10]:6443", Some(("fd00::10", 6443)); "an address of version 6")]
    #[test_case("http://api.onprem.example", None; "plain text")]
    #[test_case("api.onprem.example:6443", None; "no URL")]
    #[test_case("", None; "nothing")]
    fn reads_the_servers_url(url: &str, expected: Option<(&str, u16)>) {
        let expected = expected.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(host_and_port(url).ok(), expected);
    }

    #[test_case(""; "nothing")]
    #[test_case("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"; "an empty certificate")]
    #[test_case("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"; "damage")]
    fn refuses_what_is_no_ca(ca: &str) {
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        assert!(connector(ca).is_err());
    }
}
