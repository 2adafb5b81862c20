//! The instance metadata service, version 2 only, over IPv4 or IPv6. A 404 where a fact is optional is no error.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use aws_config::imds::client::error::ImdsError;
use aws_config::imds::client::{Client, EndpointMode};
use aws_config::provider_config::ProviderConfig;

use ipnet::IpNet;

use super::credentials::{self, Credentials};
use super::document::{self, Facts};
use super::spot::Interruption;
use crate::config::CredentialsOf;

pub(super) const DOCUMENT: &str = "/latest/dynamic/instance-identity/document";
const ID: &str = "/latest/meta-data/instance-id";
const ZONE: &str = "/latest/meta-data/placement/availability-zone";
const MAC: &str = "/latest/meta-data/mac";
const LIFECYCLE: &str = "/latest/meta-data/instance-life-cycle";
/// The document again, inside AWS's signature.
pub(super) const SIGNED_DOCUMENT: &str = "/latest/dynamic/instance-identity/rsa2048";
pub(super) const CREDENTIALS: &str = "/latest/meta-data/identity-credentials/ec2/security-credentials/ec2-instance";
/// The name of the role of the instance's profile, and below it the role's credentials.
const PROFILE: &str = "/latest/meta-data/iam/security-credentials/";

const SPOT: &str = "/latest/meta-data/spot/instance-action";

/// Where the service is: at the same two addresses in every VPC.
pub(super) const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), 80),
    SocketAddr::new(
        std::net::IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        80,
    ),
];

/// A client of the metadata service.
#[derive(Clone, Debug)]
pub(crate) struct Imds {
    /// One a family.
    clients: Vec<Client>,
    /// The one that has answered, or is to be tried first.
    chosen: Cell<usize>,
}

/// Why the metadata service did not say what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the instance metadata service at 169.254.169.254 or fd00:ec2::254 does not answer: {cause}")]
    Unreachable { cause: String },
    #[error("the instance metadata service is disabled")]
    Refused,
    #[error("the instance's metadata name the {what} `{metadata}`, but its {by} names `{document}`")]
    Disagree {
        what: &'static str,
        metadata: String,
        by: &'static str,
        document: String,
    },
    #[error("the instance metadata service has no `{path}`")]
    Absent { path: String },
    #[error("the instance metadata service answered {status} to `{path}`")]
    Status { path: String, status: u16 },
    #[error("the instance metadata service's `{path}` is malformed: {fault}")]
    Malformed { path: String, fault: String },
}

impl Imds {
    /// A client for the service of this instance.
    pub(crate) fn new() -> Self {
        let modes = [EndpointMode::IpV4, EndpointMode::IpV6];
        Self::build(modes.map(|it| Client::builder().endpoint_mode(it)).into())
    }

    /// Takes builders, so that tests can name services of their own.
    pub(super) fn build(builders: Vec<aws_config::imds::client::Builder>) -> Self {
        // Addressed by number and in plain text: no TLS, and nothing to resolve.
        let http = aws_smithy_http_client::Builder::new().build_http();
        let client = |builder: aws_config::imds::client::Builder| {
            builder
                .configure(&ProviderConfig::empty().with_http_client(http.clone()))
                .connect_timeout(Duration::from_secs(2))
                .read_timeout(Duration::from_secs(5))
                .max_attempts(2)
                .build()
        };
        Self {
            clients: builders.into_iter().map(client).collect(),
            chosen: Cell::new(0),
        }
    }

    /// Everything that the journey needs to know.
    pub(crate) async fn facts(&self) -> Result<Facts, Error> {
        let document = self.required(DOCUMENT).await?;
        let (id, zone, mac, lifecycle, signed) = tokio::try_join!(
            self.optional(ID),
            self.optional(ZONE),
            self.optional(MAC),
            self.optional(LIFECYCLE),
            self.optional(SIGNED_DOCUMENT),
        )?;
        let facts = Facts::parse(&document, mac, lifecycle)?.with_signed(signed)?;
        facts.agree(id.as_deref(), zone.as_deref())?;
        let vpc = match &facts.mac {
            Some(mac) => self.networks(mac).await?,
            None => Vec::new(),
        };
        Ok(Facts { vpc, ..facts })
    }

    /// The VPC's own networks.
    async fn networks(&self, mac: &str) -> Result<Vec<IpNet>, Error> {
        let path = |what| format!("/latest/meta-data/network/interfaces/macs/{mac}/{what}");
        let (v4, v6) = (path("vpc-ipv4-cidr-blocks"), path("vpc-ipv6-cidr-blocks"));
        let (v4, v6) = tokio::try_join!(self.optional(&v4), self.optional(&v6))?;
        document::networks(&[v4, v6])
    }

    /// Fresh credentials of this role.
    pub(crate) async fn credentials(&self, of: CredentialsOf) -> Result<Credentials, Error> {
        let path = match of {
            CredentialsOf::IdentityRole => CREDENTIALS.to_owned(),
            CredentialsOf::InstanceProfile => credentials::path_below(PROFILE, &self.required(PROFILE).await?)?,
        };
        Credentials::parse(&path, &self.required(&path).await?)
    }

    /// What is about to become of a spot instance; nothing, mostly.
    pub(crate) async fn interruption(&self) -> Result<Option<Interruption>, Error> {
        let notice = self.optional(SPOT).await?;
        notice.as_deref().map(Interruption::parse).transpose()
    }

    async fn required(&self, path: &str) -> Result<String, Error> {
        let absent = || Error::Absent { path: path.to_owned() };
        self.optional(path).await?.ok_or_else(absent)
    }

    /// Asks over the family that answered last, and over the other one if that does not answer.
    async fn optional(&self, path: &str) -> Result<Option<String>, Error> {
        let first = self.chosen.get();
        // The client's future is large, and several of them are kept at once.
        let mut outcome = Box::pin(self.ask(first, path)).await;
        for turn in 1..self.clients.len() {
            if !matches!(outcome, Err(Error::Unreachable { .. })) {
                break;
            }
            let next = (first + turn) % self.clients.len();
            // That the other one does not answer either is to be expected.
            if let Ok(text) = Box::pin(self.ask(next, path)).await {
                self.chosen.set(next);
                outcome = Ok(text);
            }
        }
        outcome
    }

    async fn ask(&self, client: usize, path: &str) -> Result<Option<String>, Error> {
        match self.clients[client].get(path).await {
            Ok(text) => Ok(Some(text.into())),
            Err(ImdsError::ErrorResponse(error)) => match error.response().status().as_u16() {
                404 => Ok(None),
                403 => Err(Error::Refused),
                status => Err(Error::Status {
                    path: path.to_owned(),
                    status,
                }),
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
