//! The region that all cases happen in, the two images of its operator, and how an instance starts from one.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::host::containment;
use dynk8s_lab::machine::Machine;
use dynk8s_lab::machine::image::Image;
use dynk8s_lab::prepare::{self, Prepared};
use dynk8s_lab::product;
use dynk8s_lab::region::{Equipment, Region};
use dynk8s_lab::story::{Newcomer, checks};
use dynk8s_lab::turns::Turns;
use libtest_mimic::Trial;
use tokio::runtime::{Builder, Runtime};

/// The user data of docs and Terraform.
const BAKED: &str = include_str!("../../../cloud-init/baked.yaml");
/// cloud-init is Python: emulated, its modules take their time.
const CLOUD_INIT_WITHIN: Duration = Duration::from_mins(3);

pub(crate) struct Stage {
    pub(crate) region: Region,
    /// It knows its provisioner.
    pub(crate) configured: Image,
    /// It learns of its provisioner by user data.
    pub(crate) baked: Image,
    keys: u8,
}

/// An instance that is on.
pub(crate) struct Started {
    pub(crate) machine: Machine,
    pub(crate) newcomer: Newcomer,
}

impl Stage {
    async fn open(prepared: &Prepared, package: &Path) -> anyhow::Result<Self> {
        let region = Box::pin(Region::open(&prepared.programs, &prepared.product)).await?;
        Ok(Self {
            configured: region.packaged(&prepared.image, package, true).await?,
            baked: region.packaged(&prepared.image, package, false).await?,
            region,
            keys: 1,
        })
    }

    /// An instance that is announced and not on yet; there is a key for it.
    pub(crate) async fn launch(&mut self) -> anyhow::Result<Newcomer> {
        self.keys += 1;
        let newcomer = Newcomer::launch(&self.region, self.keys).await?;
        newcomer.is_announced(&self.region).await?;
        Ok(newcomer)
    }

    /// Gives an instance the user data of `cloud-init/baked.yaml`, filled in; `more` stands at the end of its `agent.toml`.
    pub(crate) fn give_user_data(&self, newcomer: &Newcomer, more: &str) {
        let last = "provisioner_key = \"${provisioner_key}\"";
        let filled = self.region.user_data(&BAKED.replace(last, &format!("{last}{more}")));
        self.region.aws.cloud.give_user_data(&newcomer.instance.id, &filled);
    }

    /// Powers an instance on.
    pub(crate) fn start(&self, image: &Image, newcomer: Newcomer, equipment: Equipment) -> anyhow::Result<Started> {
        Ok(Started {
            machine: self.region.boot(image, &newcomer.instance, equipment)?,
            newcomer,
        })
    }

    /// Waits until a machine is a node, and looks at all that a node must be.
    pub(crate) async fn joins(&self, started: &Started) -> anyhow::Result<()> {
        let Started { machine, newcomer } = started;
        let tokens = newcomer.joins(&self.region, machine).await?;
        checks::all(&self.region, machine, newcomer, &tokens).await
    }
}

impl Started {
    /// Waits for cloud-init's end; it must have found EC2, and have nothing to complain of.
    pub(crate) async fn cloud_init_is_content(&self) -> anyhow::Result<()> {
        let status = self
            .machine
            .exec_within(&["cloud-init", "status", "--wait", "--long"], CLOUD_INIT_WITHIN);
        let status = status.await?;
        ensure!(
            status.code == 0 && status.stdout.contains("status: done") && status.stdout.contains("DataSourceEc2"),
            "cloud-init ends with {}: {}\n{}",
            status.code,
            status.stdout,
            self.machine
                .run(&["tail", "-n", "30", "/var/log/cloud-init.log"])
                .await?
        );
        Ok(())
    }

    /// The unit was started once in the machine's present boot.
    pub(crate) async fn was_started_once(&self) -> anyhow::Result<()> {
        let said = self
            .machine
            .journal(&["--unit=dynk8s-agent", "--grep=^Starting "])
            .await?;
        ensure!(said.lines().count() == 1, "the unit was not started once:\n{said}");
        Ok(())
    }
}

/// Fetches and builds everything, enters the lab, and opens the region.
pub(crate) fn set() -> anyhow::Result<Turns<Stage>> {
    let (prepared, package) = containment::enter_prepared(|| {
        runtime()?.block_on(async { anyhow::Ok((prepare::all().await?, product::package().await?)) })
    })?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::open(&prepared, &package))?;
    Ok(Turns::on(stage, runtime))
}

pub(crate) fn case(
    lab: &Turns<Stage>,
    name: &str,
    case: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let title = format!("boot-{name}");
    lab.trial(name, async move |stage: &mut Stage| {
        stage.region.mend().await?;
        let outcome = case(stage).await.with_context(|| format!("case `{title}`"));
        stage.region.with_evidence(&title, outcome).await
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
