//! The last step: the Node is there, it is ours, and it is Ready. kubeadm's success says none of these.

mod decide;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use dynk8s_api::claim::Cluster;
use hickory_resolver::config::ResolveHosts;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, Client, Identity, StatusCode};
use tokio::time::Instant;

use crate::facts::Facts;
use crate::retry::{self, Next, Pauses};
use crate::timeline::Recorder;
use crate::tunnel::Tunnel;
use crate::uplink::lookup;

pub(crate) use decide::Standing;

/// The kubelet's certificate and key; it is renewed, so it is read anew each time.
const CREDENTIALS: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(5),
};

/// Looks at this machine's Node with the kubelet's own credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) cluster: &'a Cluster,
    pub(crate) tunnel: &'a Tunnel,
}

impl Watch<'_> {
    /// Waits until the Node is Ready. At the deadline, a Node that is ours but not Ready is no error.
    pub(crate) async fn wait(&self, deadline: Instant, recorder: &Recorder) -> anyhow::Result<Standing> {
        let seen = RefCell::new(None);
        let attempt = async || match self.look().await? {
            Standing::Ready => Ok(Standing::Ready),
            standing => {
                let error = self.complaint(&standing);
                *seen.borrow_mut() = Some(standing);
                Err(error)
            }
        };
        let failed = |error: &anyhow::Error| recorder.tries_again(&format!("{error:#}"));
        let outcome = retry::until(deadline, PAUSES, attempt, |_| Next::Again, failed).await;
        match (outcome, seen.into_inner()) {
            (Ok(standing), _) | (Err(_), Some(standing @ Standing::NotReady(_))) => Ok(standing),
            (Err(failure), _) => Err(failure.into_error()),
        }
    }

    async fn look(&self) -> anyhow::Result<Standing> {
        let url = format!(
            "{}/api/v1/nodes/{}",
            self.cluster.server.trim_end_matches('/'),
            self.facts.id
        );
        let failed = || format!("failed to read the Node `{}`", self.facts.id);
        let sent = self.client()?.get(url).send().await;
        let response = sent.map_err(reqwest::Error::without_url).with_context(failed)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(anyhow!(
                    "there is no such Node yet; `journalctl -u kubelet` tells why it does not register"
                ))
                .with_context(failed);
            }
            status => return Err(anyhow!("the API server answered {status}")).with_context(failed),
        }
        let node = response
            .json()
            .await
            .map_err(reqwest::Error::without_url)
            .with_context(failed)?;
        Ok(decide::standing(&node, &self.facts.provider_id()))
    }

    fn complaint(&self, standing: &Standing) -> anyhow::Error {
        let id = &self.facts.id;
        match standing {
            Standing::Ready => anyhow!("the Node `{id}` is Ready"),
            Standing::NotReady(why) => anyhow!("the Node `{id}` is not Ready yet: {why}"),
            Standing::Foreign(other) => anyhow!(
                "the Node `{id}` has the provider id `{other}` instead of `{}`: an older Node of this name is in the way; \
                 delete it",
                self.facts.provider_id()
            ),
        }
    }

    fn client(&self) -> anyhow::Result<Client> {
        let failed = || format!("failed to use the kubelet's credentials `{CREDENTIALS}`");
        let pem = std::fs::read(Path::new(CREDENTIALS)).with_context(failed)?;
        let identity = Identity::from_pem(&pem).with_context(failed)?;
        let roots =
            Certificate::from_pem_bundle(self.cluster.ca.as_bytes()).context("failed to read the cluster's CA")?;
        let resolver = OnPremises {
            servers: self.tunnel.dns.clone(),
        };
        Client::builder()
            .no_proxy()
            .tls_certs_only(roots)
            .identity(identity)
            .dns_resolver(Arc::new(resolver))
            .timeout(Duration::from_secs(10))
            .build()
            .with_context(failed)
    }
}

/// The tunnel's resolvers, for the API server's name.
#[derive(Clone, Debug)]
struct OnPremises {
    servers: Vec<IpAddr>,
}

impl Resolve for OnPremises {
    fn resolve(&self, name: Name) -> Resolving {
        let servers = self.servers.clone();
        Box::pin(async move {
            let found = lookup(&servers, name.as_str(), ResolveHosts::Never).await;
            let addresses = found.map_err(|error| format!("{error:#}"))?;
            Ok(Box::new(addresses.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}
