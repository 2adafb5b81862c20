//! The instance metadata service, version 2 only. A 404 where a fact is optional is no error.

use std::time::Duration;

use aws_config::imds::client::Client;
use aws_config::imds::client::error::ImdsError;
use aws_config::provider_config::ProviderConfig;

use super::credentials::Credentials;
use super::document::Facts;

pub(super) const DOCUMENT: &str = "/latest/dynamic/instance-identity/document";
const MAC: &str = "/latest/meta-data/mac";
const LIFECYCLE: &str = "/latest/meta-data/instance-life-cycle";
pub(super) const CREDENTIALS: &str = "/latest/meta-data/identity-credentials/ec2/security-credentials/ec2-instance";

/// A client of the metadata service.
#[derive(Clone, Debug)]
pub(crate) struct Imds {
    client: Client,
}

/// Why the metadata service did not say what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the instance metadata service at 169.254.169.254 does not answer: {cause}")]
    Unreachable { cause: String },
    #[error("the instance metadata service is disabled")]
    Refused,
    #[error("the instance metadata service has no `{path}`")]
    Absent { path: &'static str },
    #[error("the instance metadata service answered {status} to `{path}`")]
    Status { path: &'static str, status: u16 },
    #[error("the instance metadata service's `{path}` is malformed: {fault}")]
    Malformed { path: &'static str, fault: String },
}

impl Imds {
    /// A client for the service of this instance.
    pub(crate) fn new() -> Self {
        Self::build(Client::builder())
    }

    /// Takes a builder, so that tests can name a service of their own.
    pub(super) fn build(builder: aws_config::imds::client::Builder) -> Self {
        // Addressed by number and in plain text: no TLS, and nothing to resolve.
        let http = aws_smithy_http_client::Builder::new().build_http();
        let client = builder
            .configure(&ProviderConfig::empty().with_http_client(http))
            .connect_timeout(Duration::from_secs(2))
            .read_timeout(Duration::from_secs(5))
            .max_attempts(2)
            .build();
        Self { client }
    }

    /// Everything that the journey needs to know.
    pub(crate) async fn facts(&self) -> Result<Facts, Error> {
        let document = self.required(DOCUMENT).await?;
        let mac = self.optional(MAC).await?;
        let lifecycle = self.optional(LIFECYCLE).await?;
        Facts::parse(&document, mac, lifecycle)
    }

    /// Fresh credentials of the instance identity role, which every instance has.
    pub(crate) async fn credentials(&self) -> Result<Credentials, Error> {
        Credentials::parse(&self.required(CREDENTIALS).await?)
    }

    async fn required(&self, path: &'static str) -> Result<String, Error> {
        self.optional(path).await?.ok_or(Error::Absent { path })
    }

    async fn optional(&self, path: &'static str) -> Result<Option<String>, Error> {
        match self.client.get(path).await {
            Ok(text) => Ok(Some(text.into())),
            Err(ImdsError::ErrorResponse(error)) => match error.response().status().as_u16() {
                404 => Ok(None),
                403 => Err(Error::Refused),
                status => Err(Error::Status { path, status }),
            },
            Err(error) => Err(Error::Unreachable {
                cause: innermost(&error),
            }),
        }
    }
}

/// The cause of all the wrapping.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
