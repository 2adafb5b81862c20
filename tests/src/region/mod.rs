//! A region and a cluster on one machine: AWS, the internet, the premises with control plane and provisioner, and the
//! instances that come and go. Every test that crosses a process starts here, and so does the demo.

mod aws;
mod cost;
mod evidence;
mod keys;
mod machine;
mod provisioner;
mod site;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub use self::aws::Aws;
pub use self::cost::Cost;
pub use self::keys::key_name;
pub use self::machine::Equipment;
pub use self::provisioner::{KEY_COOLDOWN, Provisioner};
pub use self::site::Site;
use crate::aws::certificates::Authority;
use crate::aws::cloud::Instance;
use crate::aws::ec2;
use crate::aws::imds;
use crate::aws::ingress::{self, Ingress};
use crate::aws::server::Server;
use crate::cluster::{ControlPlane, NAMESPACE};
use crate::host::containment::SCRATCH;
use crate::product::Product;
use crate::programs::Programs;
use crate::topology::Topology;
use crate::topology::addresses::{PREMISES_PUBLIC, PROVISIONER_NAME, VPC_FIRST_INSTANCE, ZONE};

const POLL: Duration = Duration::from_millis(200);

/// Everything that dynk8s works with; gone on drop.
#[derive(Debug)]
pub struct Region {
    // Dropped in this order: whoever depends on another goes first.
    pub provisioner: Provisioner,
    pub ingress: Ingress,
    /// The ingress's door: closed, the provisioner is unreachable.
    pub entrance: Server,
    pub aws: Aws,
    pub control_plane: ControlPlane,
    pub topology: Topology,
    /// Whom everybody trusts for the names of AWS and for the public name of the provisioner.
    pub authority: Authority,
    product: Product,
    provisioner_key: String,
    instances: AtomicU32,
}

impl Region {
    /// Starts all of it; the lab's namespaces must have been entered.
    pub async fn open(programs: &Programs, product: &Product) -> anyhow::Result<Self> {
        let topology = Topology::build()?;
        let authority = Authority::new("Lab Root CA")?;
        let spawn = topology.premises.namespace().spawner();
        let folder = Path::new(SCRATCH).join("cluster");
        let (control_plane, aws) = tokio::try_join!(
            ControlPlane::start(programs, &folder, spawn),
            Aws::open(&topology, &authority),
        )?;
        control_plane.install().await?;
        let provisioner = Provisioner::start(
            &product.provisioner,
            &control_plane,
            &topology,
            &authority,
            aws.sns.topic(),
        )
        .await?;
        let provisioner_key = provisioner.key().await?;
        let (ingress, entrance) = entrance(&topology, &authority).await?;
        aws.subscribe()
            .await
            .context("failed to subscribe the provisioner to SNS")?;
        Ok(Self {
            provisioner,
            ingress,
            entrance,
            aws,
            control_plane,
            topology,
            authority,
            product: product.clone(),
            provisioner_key,
            instances: AtomicU32::new(0),
        })
    }

    /// A new instance, as the autoscaler would launch it: it has metadata and an address, and is not powered on yet.
    pub fn launch(&self) -> Instance {
        let number = self.instances.fetch_add(1, Ordering::Relaxed);
        let address = Ipv4Addr::from(u32::from(VPC_FIRST_INSTANCE) + number);
        let instance = Instance::launch("m7i.large", ZONE, address);
        self.aws.cloud.add(instance.clone());
        instance
    }

    /// A new instance with the address and the card of one that is gone, whose machine it can be from its next start on.
    pub fn replace(&self, gone: &Instance) -> Instance {
        self.aws.cloud.remove(&gone.id);
        let instance = Instance::launch(&gone.kind, &gone.zone, gone.address);
        self.aws.cloud.add(instance.clone());
        instance
    }

    /// Undoes the faults that whoever had the region before has left.
    pub async fn mend(&mut self) -> anyhow::Result<()> {
        *self.aws.imds.faults() = imds::Faults::default();
        *self.aws.ec2.faults() = ec2::Faults::default();
        *self.ingress.faults() = ingress::Faults::default();
        self.aws.metadata.open().await;
        self.entrance.present(None).await;
        self.topology.vpc.move_gateway(PREMISES_PUBLIC)?;
        self.provisioner.configure("").await?;
        self.provisioner.take_credentials()?;
        self.provisioner.check()
    }

    /// The configuration that an operator writes for the agent.
    fn agent_configuration(&self) -> String {
        self.short_configuration() + "ca_file = \"/etc/dynk8s/ca.pem\"\n"
    }

    /// For a machine that trusts the authority as it does those of the world.
    fn short_configuration(&self) -> String {
        format!(
            "provisioner = \"https://{PROVISIONER_NAME}\"\nprovisioner_key = \"{}\"\n",
            self.provisioner_key
        )
    }

    /// User data, of which `template` says what is to be filled in, as Terraform does it.
    pub fn user_data(&self, template: &str) -> String {
        template
            .replace("${provisioner}", &format!("https://{PROVISIONER_NAME}"))
            .replace("${provisioner_key}", &self.provisioner_key)
    }

    /// One object, if it is there. `what` are kubectl's words for it, such as `["node", name]`.
    pub async fn get(&self, what: &[&str]) -> anyhow::Result<Option<Value>> {
        let words = [&["get"], what, &["--ignore-not-found", "--output=json"]].concat();
        let text = self.control_plane.kubectl(&words).await?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// The Worker of an instance.
    pub async fn worker(&self, instance: &Instance) -> anyhow::Result<Option<Value>> {
        self.get(&["worker", &instance.id, "--namespace", NAMESPACE]).await
    }

    /// Waits until the Worker of an instance is as wished.
    pub async fn worker_until(
        &self,
        what: &str,
        within: Duration,
        instance: &Instance,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        until(what, within, async || Ok(self.worker(instance).await?.filter(&is_so))).await
    }
}

/// Asks again and again until there is an answer, or the time is up.
pub async fn until<T>(
    what: &str,
    within: Duration,
    question: impl AsyncFn() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let end = Instant::now() + within;
    loop {
        if let Some(answer) = question().await? {
            return Ok(answer);
        }
        if Instant::now() > end {
            bail!("{what}: not within {} s", within.as_secs());
        }
        sleep(POLL).await;
    }
}

/// The ingress at the public name.
async fn entrance(topology: &Topology, authority: &Authority) -> anyhow::Result<(Ingress, Server)> {
    let ingress = Ingress::new(provisioner::LISTEN.parse()?)?;
    let (routes, identity) = (ingress.routes(), authority.identity(&[PROVISIONER_NAME])?);
    let address = SocketAddr::from((PREMISES_PUBLIC, 443));
    let entrance = aws::within(topology.premises.namespace(), Server::tls(address, routes, identity)).await?;
    Ok((ingress, entrance))
}
