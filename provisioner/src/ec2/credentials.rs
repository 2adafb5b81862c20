//! Credentials, found as every AWS tool finds them.

use std::time::{Duration, SystemTime};

use aws_config::Region;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use tokio::sync::Mutex;

use super::Error;

/// Credentials are replaced this long before they expire.
const MARGIN: Duration = Duration::from_mins(5);

/// Credentials that say of no end are looked for again after this long: the file that they came from may have changed.
const KEPT: Duration = Duration::from_mins(15);

/// Environment, shared files, web identity, container and instance, in the order of the AWS command line. `region` is where
/// a web identity is exchanged.
pub fn chain(region: &str) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Chain(region.to_owned()))
}

/// A chain of AWS's remembers the files that it has read, and that one was not there: so each time there is a new one.
#[derive(Debug)]
struct Chain(String);

impl Chain {
    async fn walk(&self) -> provider::Result {
        let tls = Provider::Rustls(CryptoMode::Ring);
        let http = Builder::new().tls_provider(tls).build_https();
        let chain = DefaultCredentialsChain::builder()
            .configure(ProviderConfig::default().with_http_client(http))
            .region(Region::new(self.0.clone()));
        chain.build().await.provide_credentials().await
    }
}

impl ProvideCredentials for Chain {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.walk())
    }
}

/// Keeps credentials as long as they are good.
#[derive(Debug)]
pub(super) struct Keeper {
    provider: SharedCredentialsProvider,
    kept: Mutex<Option<(Credentials, SystemTime)>>,
}

impl Keeper {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        Self {
            provider,
            kept: Mutex::default(),
        }
    }

    pub(super) async fn get(&self) -> Result<Credentials, Error> {
        let mut kept = self.kept.lock().await;
        let now = SystemTime::now();
        if let Some((credentials, _)) = kept.as_ref().filter(|(_, until)| *until > now) {
            return Ok(credentials.clone());
        }
        let found = self.provider.provide_credentials().await;
        let credentials = found.map_err(|error| Error::Credentials(anyhow::Error::new(error)))?;
        let until = credentials.expiry().map_or(now + KEPT, |it| it - MARGIN);
        *kept = Some((credentials.clone(), until));
        Ok(credentials)
    }

    pub(super) async fn forget(&self) {
        *self.kept.lock().await = None;
    }
}
