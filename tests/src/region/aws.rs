//! AWS as the region has it: the emulators, each at the address and under the names where programs look for it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;
use url::Url;

use crate::aws::certificates::Authority;
use crate::aws::cloud::{Cloud, Instance};
use crate::aws::ec2::Ec2;
use crate::aws::eventbridge::{EventBridge, InstanceState};
use crate::aws::imds::Imds;
use crate::aws::server::Server;
use crate::aws::sns::Sns;
use crate::aws::sns::message::Message;
use crate::aws::sts::Sts;
use crate::host::namespace::Namespace;
use crate::topology::Topology;
use crate::topology::addresses::{
    ACCOUNT, AUTO_SCALING_NAME, AWS_ENDPOINTS, EC2_NAME, IMDS, IMDS_V6, PREMISES_PUBLIC, PROVISIONER_NAME, REGION,
    SNS_NAME, STS_NAME,
};

const TOPIC: &str = "dynk8s";

/// The account's services.
#[derive(Debug)]
pub struct Aws {
    pub cloud: Cloud,
    pub imds: Imds,
    pub sts: Sts,
    pub sns: Sns,
    pub ec2: Ec2,
    pub events: EventBridge,
    /// The metadata service's door: closed, it is absent.
    pub metadata: Server,
    /// The door of STS, SNS, EC2 and Auto Scaling.
    pub endpoints: Server,
    internet: Arc<Namespace>,
}

impl Aws {
    pub(super) async fn open(topology: &Topology, authority: &Authority) -> anyhow::Result<Self> {
        let cloud = Cloud::new(ACCOUNT, REGION);
        let imds = Imds::new(cloud.clone());
        let sts = Sts::new(cloud.clone());
        let provisioner = SocketAddr::from((PREMISES_PUBLIC, 443));
        let client = authority.client()?.resolve(PROVISIONER_NAME, provisioner).build()?;
        let sns = Sns::new(cloud.clone(), TOPIC, authority, client)?;
        let ec2 = Ec2::new(cloud.clone());
        let routes = by_name(vec![
            (STS_NAME, sts.routes()),
            (SNS_NAME, sns.routes()),
            (EC2_NAME, ec2.routes()),
            (AUTO_SCALING_NAME, ec2.routes()),
        ]);
        let identity = authority.identity(&[STS_NAME, SNS_NAME, EC2_NAME, AUTO_SCALING_NAME])?;
        let internet = topology.internet.namespace().clone();
        let endpoints = within(
            &internet,
            Server::tls(SocketAddr::from((AWS_ENDPOINTS, 443)), routes, identity),
        );
        let metadata = within(
            topology.vpc.namespace(),
            Server::plain(SocketAddr::from((IMDS, 80)), imds.routes()),
        );
        Ok(Self {
            events: EventBridge::new(cloud.clone(), sns.clone()),
            endpoints: endpoints.await?,
            metadata: metadata.await?,
            cloud,
            imds,
            sts,
            sns,
            ec2,
            internet,
        })
    }

    /// Opens the metadata service over IPv6 as well, until the door is dropped.
    pub async fn metadata_over_ipv6(&self, topology: &Topology) -> anyhow::Result<Server> {
        let routes = self.imds.routes();
        let door = Server::plain(SocketAddr::from((IMDS_V6, 80)), routes);
        within(topology.vpc.namespace(), door).await
    }

    /// Subscribes the provisioner to the topic, as Terraform would; done when it has called back.
    pub async fn subscribe(&self) -> anyhow::Result<()> {
        let endpoint: Url = format!("https://{PROVISIONER_NAME}/sns").parse()?;
        let sns = self.sns.clone();
        within(&self.internet, async move { sns.subscribe(&endpoint).await }).await
    }

    /// Tells the topic's subscribers that an instance changed its state.
    pub async fn announce(&self, instance: &Instance, state: InstanceState) -> anyhow::Result<Message> {
        let (events, id) = (self.events.clone(), instance.id.clone());
        within(&self.internet, async move { events.announce(&id, state).await }).await
    }

    /// Delivers a message as it is, such as one that came before or a forged one.
    pub async fn deliver(&self, message: &Message) -> anyhow::Result<()> {
        let (sns, message) = (self.sns.clone(), message.clone());
        within(&self.internet, async move { sns.deliver(&message).await }).await
    }
}

/// Runs work whose sockets belong into a namespace.
pub(super) async fn within<T: Send + 'static>(
    namespace: &Namespace,
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    namespace
        .tokio()
        .spawn(work)
        .await
        .with_context(|| format!("failed to work in namespace `{}`", namespace.name()))?
}

/// Several services at one address, told apart by the name that the client asks for.
fn by_name(services: Vec<(&'static str, Router)>) -> Router {
    Router::new().fallback(move |request: Request| {
        let services = services.clone();
        async move { answer(services, request).await }
    })
}

async fn answer(services: Vec<(&'static str, Router)>, request: Request) -> Result<Response, Infallible> {
    let host = request.headers().get(header::HOST).and_then(|it| it.to_str().ok());
    match services.into_iter().find(|(name, _)| host == Some(name)) {
        Some((_, routes)) => routes.oneshot(request).await,
        None => Ok(StatusCode::NOT_FOUND.into_response()),
    }
}
