//! The resolvers that DHCP gave: for the tunnel's endpoint and the provisioner's name, also when the host's own files name
//! others. `getaddrinfo` is never called, for a static binary does not survive it on every host.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts, ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::host::files;
use crate::names;

/// Where the servers are remembered until the next boot.
pub(crate) const REMEMBERED: &str = "/run/dynk8s/uplink.json";

/// The files that may tell them: NetworkManager's where it runs, which say what DHCP said whatever happens to the others,
/// systemd-resolved's list where it is in charge, else the host's own.
pub(crate) const SOURCES: &[&str] = &[
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/etc/resolv.conf",
];

/// The resolvers of the network below the tunnel.
#[derive(Clone, Debug)]
pub(crate) struct Uplink {
    remembered: PathBuf,
    sources: Vec<PathBuf>,
    /// Where the records are of what the agent has changed.
    records: PathBuf,
    remembers: bool,
}

impl Uplink {
    pub(crate) fn new(remembered: &Path, sources: &[&str], records: &Path) -> Self {
        Self {
            remembered: remembered.to_owned(),
            sources: sources.iter().map(PathBuf::from).collect(),
            records: records.to_owned(),
            remembers: true,
        }
    }

    /// The same, for those who change nothing.
    pub(crate) fn only_looking(self) -> Self {
        Self {
            remembers: false,
            ..self
        }
    }

    /// The servers, read when first needed and remembered from then on.
    pub(crate) fn servers(&self) -> anyhow::Result<Vec<IpAddr>> {
        if let Some(text) = files::read(&self.remembered)? {
            return serde_json::from_str(&text)
                .with_context(|| format!("failed to read `{}`", self.remembered.display()));
        }
        let servers = self.find()?;
        if servers.is_empty() {
            bail!("no DNS server is known yet; DHCP should name one");
        }
        if self.remembers {
            files::write(&self.remembered, &serde_json::to_vec(&servers)?, files::PUBLIC)?;
        }
        Ok(servers)
    }

    fn find(&self) -> anyhow::Result<Vec<IpAddr>> {
        for source in &self.sources {
            let text = files::read(source)?.unwrap_or_default();
            let servers = nameservers(&text);
            // The agent's own file of before a reboot names what only the tunnel leads to.
            if !servers.is_empty() && !text.starts_with(names::HEADER) {
                return Ok(servers);
            }
        }
        names::servers_before(&self.records)
    }

    /// All addresses of a name, IPv4 first.
    pub(crate) async fn resolve(&self, host: &str) -> anyhow::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        lookup(&self.servers()?, host, ResolveHosts::Always).await
    }
}

impl Resolve for Uplink {
    fn resolve(&self, name: Name) -> Resolving {
        let uplink = self.clone();
        Box::pin(async move {
            let addresses = Uplink::resolve(&uplink, name.as_str())
                .await
                .map_err(|error| format!("{error:#}"))?;
            Ok(Box::new(addresses.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// Asks exactly these servers, in their order.
pub(crate) async fn lookup(servers: &[IpAddr], host: &str, hosts_file: ResolveHosts) -> anyhow::Result<Vec<IpAddr>> {
    let servers_text = || servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let failed = || format!("failed to resolve `{host}` with {}", servers_text());
    let mut options = ResolverOpts::default();
    options.timeout = Duration::from_secs(2);
    options.attempts = 2;
    options.num_concurrent_reqs = 1;
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
    options.use_hosts_file = hosts_file;
    let configuration =
        ResolverConfig::from_name_servers(servers.iter().copied().map(NameServerConfig::udp_and_tcp).collect());
    let resolver = TokioResolver::builder_with_config(configuration, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
        .map_err(|error| anyhow!("{error}"))
        .with_context(failed)?;
    let absolute = format!("{}.", host.trim_end_matches('.'));
    let found = resolver
        .lookup_ip(absolute)
        .await
        .map_err(|error| anyhow!("{error}"))
        .with_context(failed)?;
    let addresses: Vec<IpAddr> = found.iter().collect();
    if addresses.is_empty() {
        return Err(anyhow!("the answer names no address")).with_context(failed);
    }
    Ok(addresses)
}

/// The servers that a resolver file names. A stub on loopback is no server: it asks those that are wanted.
pub(crate) fn nameservers(text: &str) -> Vec<IpAddr> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("nameserver")).then(|| words.next()).flatten()
        })
        .filter_map(|word| word.split('%').next()?.parse().ok())
        .filter(|it: &IpAddr| !it.is_loopback())
        .collect()
}

/// The certificates in a file, at least one.
pub(crate) fn certificates(path: &Path) -> anyhow::Result<Vec<reqwest::Certificate>> {
    let named = || format!("failed to read certificates from `{}`", path.display());
    let text = files::read(path)?
        .context("there is no such file")
        .with_context(named)?;
    let found = reqwest::Certificate::from_pem_bundle(text.as_bytes()).with_context(named)?;
    if found.is_empty() {
        bail!("failed to find a certificate in `{}`: it must hold PEM", path.display());
    }
    Ok(found)
}

/// A client for the provisioner: by these resolvers, through the configured proxy alone, and with the certificates of the
/// system and of `ca_file`.
pub(crate) fn https_client(
    uplink: &Uplink,
    ca_file: Option<&Path>,
    proxy: Option<&Url>,
) -> anyhow::Result<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .https_only(true)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(0)
        .user_agent(concat!("dynk8s-agent/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(uplink.clone()));
    if let Some(proxy) = proxy {
        builder = builder.proxy(reqwest::Proxy::https(proxy.clone()).context("failed to use the configured proxy")?);
    }
    if let Some(path) = ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    }
    builder
        .build()
        .context("failed to set TLS up (is a bundle of CA certificates installed?)")
}

#[cfg(test)]
mod tests;
