//! The instance metadata service fails, or is reached in another way than most.

use std::time::Duration;

use anyhow::ensure;
use axum::http::StatusCode;
use dynk8s_lab::aws::cloud::Instance;
use dynk8s_lab::topology::addresses::{ACCOUNT, vpc_v6};
use dynk8s_lab::topology::blockade::Blockade;
use tokio::time::sleep;

use crate::stage::{SOON, Stage, names};

const IMPATIENT: &str = "[deadlines]\nfacts = \"3s\"\n";

/// What an instance may lack. The signed document is not among these: this provisioner asks for it.
const OPTIONAL: [&str; 4] = [
    "instance-id",
    "instance-life-cycle",
    "mac",
    "placement/availability-zone",
];

pub(crate) async fn is_absent(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.aws.metadata.close().await;
    let mut site = stage.region.site(&instance, IMPATIENT)?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["facts", "169.254.169.254", "3s", "HttpEndpoint"])?;
    stage.region.aws.metadata.open().await;
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn is_late(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.aws.metadata.close().await;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    sleep(Duration::from_mins(1)).await;
    stage.region.aws.metadata.open().await;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn is_there_over_ipv6_alone(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let region = &stage.region;
    region.topology.vpc.speak_ipv6()?;
    let _door = region.aws.metadata_over_ipv6(&region.topology).await?;
    region.aws.metadata.close().await;
    let mut site = region.site(&instance, "")?;
    site.host().speak_ipv6()?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    let visits = stage.region.aws.imds.journal().entries();
    let came = visits.iter().any(|it| it.from.ip() == vpc_v6(instance.address));
    ensure!(came, "nobody asked over IPv6");
    Ok(())
}

/// As much as it refuses, it must not be taken for absent.
pub(crate) async fn is_throttled(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.aws.imds.faults().throttle = u32::MAX;
    let mut site = stage.region.site(&instance, IMPATIENT)?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["facts", "within 3s", "throttled"])?;
    stage.region.aws.imds.faults().throttle = 12;
    drop(site);
    let mut patient = stage.region.site(&instance, "")?;
    patient.start()?;
    stage.joins(&instance, &patient).await?;
    ensure!(stage.region.aws.imds.faults().throttle == 0, "it was asked too seldom");
    Ok(())
}

pub(crate) async fn lacks_what_is_optional(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let paths = OPTIONAL.map(|it| format!("/latest/meta-data/{it}"));
    for path in &paths {
        let absent = (StatusCode::NOT_FOUND, String::new());
        stage.region.aws.imds.faults().replace.insert(path.clone(), absent);
    }
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    for path in &paths {
        ensure!(
            statuses(stage, &instance, path).contains(&StatusCode::NOT_FOUND),
            "nobody asked for `{path}`"
        );
    }
    Ok(())
}

/// As where a hop limit of 1 ends its answers at a bridge: the handshake succeeds, and then nothing comes.
pub(crate) async fn answers_get_lost(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let vpc = stage.region.topology.vpc.namespace().clone();
    let address = instance.address;
    let answers = format!("ip saddr 169.254.169.254 ip daddr {address} tcp sport 80 tcp flags & psh == psh");
    let _lost = Blockade::raise_for_sent(vpc, &answers)?;
    let mut site = stage.region.site(&instance, IMPATIENT)?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(
        &line,
        &["facts", "takes connections", "HttpPutResponseHopLimit", "2 or more"],
    )
}

/// The document alone is signed, so what the metadata say beside it is not believed, and not asked for again either.
pub(crate) async fn contradicts_the_document(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let mut site = stage.region.site(&instance, "")?;
    let other = stage.region.launch();
    let faults = [
        ("meta-data/instance-id", other.id.clone(), [&other.id, &instance.id]),
        (
            "dynamic/instance-identity/document",
            document(&instance, "999999999999"),
            [&"999999999999".to_owned(), &ACCOUNT.to_owned()],
        ),
    ];
    for (path, text, named) in faults {
        let replacement = (StatusCode::OK, text);
        stage.region.aws.imds.faults().replace = [(format!("/latest/{path}"), replacement)].into();
        site.start()?;
        let line = site.verdict(SOON).await?;
        names(&line, &["facts", named[0], named[1], "do not trust this machine"])?;
    }
    ensure!(stage.claims_of(&instance) == 0, "it claimed all the same");
    Ok(())
}

/// A plain document for another account.
fn document(instance: &Instance, account: &str) -> String {
    serde_json::json!({
        "accountId": account,
        "availabilityZone": instance.zone,
        "instanceId": instance.id,
        "instanceType": instance.kind,
        "privateIp": instance.address,
        "region": "eu-central-1",
    })
    .to_string()
}

/// What an instance was answered at a path.
fn statuses(stage: &Stage, instance: &Instance, path: &str) -> Vec<StatusCode> {
    let visits = stage.region.aws.imds.journal().entries();
    let to = visits
        .iter()
        .filter(|it| it.from.ip() == instance.address && it.path == path);
    to.map(|it| it.status).collect()
}
