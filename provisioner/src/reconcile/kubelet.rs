//! One look at one kubelet: a TLS handshake, in which it has to show a certificate of the cluster's CA for its node's name and
//! address. Nothing is asked of it.

#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use dynk8s_api::InstanceId;
use kube::Client;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::decide::Sight;
use crate::store::Store;

/// How long a kubelet may take for the connection and the handshake.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the cluster's CA is not asked for again.
const FRESH: Duration = Duration::from_mins(5);

/// Looks at kubelets, with the cluster's CA in mind.
pub(super) struct Kubelets {
    store: Store,
    trust: Mutex<Option<(Instant, Arc<ClientConfig>)>>,
}

impl Kubelets {
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self {
            store: Store::new(client, namespace),
            trust: Mutex::default(),
        }
    }

    pub(super) async fn look(&self, instance: &InstanceId, at: SocketAddr) -> Sight {
        match self.authority().await {
            Ok(trust) => look(trust, instance, at).await,
            Err(error) => Sight::NoAuthority(format!("{error:#}")),
        }
    }

    async fn authority(&self) -> anyhow::Result<Arc<ClientConfig>> {
        let kept = self.trust().clone();
        if let Some((asked, trust)) = kept
            && asked.elapsed() < FRESH
        {
            return Ok(trust);
        }
        let trust = Arc::new(trusting(&self.store.cluster_ca().await?)?);
        *self.trust() = Some((Instant::now(), Arc::clone(&trust)));
        Ok(trust)
    }

    fn trust(&self) -> MutexGuard<'_, Option<(Instant, Arc<ClientConfig>)>> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Trusts these certificates and no others.
fn trusting(authorities: &str) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
        let authority = authority.context("failed to read a certificate")?;
        roots.add(authority).context("failed to use a certificate")?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

async fn look(trust: Arc<ClientConfig>, instance: &InstanceId, at: SocketAddr) -> Sight {
    let Ok(name) = ServerName::try_from(instance.to_string()) else {
        return Sight::WrongCertificate("its name can be in no certificate".to_owned());
    };
    match timeout(PATIENCE, shake_hands(trust, name, at)).await {
        Ok(Ok(())) => Sight::Right,
        Ok(Err(error)) => sight_of(&error),
        Err(_) => Sight::Silence(format!("nothing within {PATIENCE:?}")),
    }
}

async fn shake_hands(trust: Arc<ClientConfig>, name: ServerName<'static>, at: SocketAddr) -> io::Result<()> {
    let stream = TcpStream::connect(at).await?;
    let stream = TlsConnector::from(trust).connect(name, stream).await?;
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(|it| it.first());
    let address = ServerName::IpAddress(at.ip().into());
    // The API server goes by the address.
    shown
        .ok_or(Error::NoCertificatesPresented)
        .and_then(ParsedCertificate::try_from)
        .and_then(|it| verify_server_name(&it, &address))
        .map_err(io::Error::other)
}

fn sight_of(error: &io::Error) -> Sight {
    let of_tls = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
    match of_tls {
        Some(Error::InvalidCertificate(fault)) => Sight::WrongCertificate(words(fault)),
        // What Go answers when there is no certificate to show.
        Some(Error::AlertReceived(AlertDescription::InternalError | AlertDescription::UnrecognisedName)) => {
            Sight::NoCertificate
        }
        Some(other) => Sight::Silence(other.to_string()),
        None => Sight::Silence(error.to_string()),
    }
}

/// Without what changes from look to look.
fn words(fault: &CertificateError) -> String {
    match fault {
        CertificateError::UnknownIssuer => "another CA signed it".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for other names".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        other => format!("{other:?}").chars().take(80).collect(),
    }
}
