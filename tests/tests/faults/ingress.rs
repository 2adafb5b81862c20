//! What stands between agent and provisioner fails, or cheats.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::ensure;
use axum::body::Bytes;
use dynk8s_api::PrivateKey;
use dynk8s_lab::aws::certificates::Authority;
use dynk8s_lab::topology::addresses::PROVISIONER_NAME;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::stage::{SOON, Stage, names};

pub(crate) async fn is_unreachable(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    stage.region.entrance.close().await;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    sleep(Duration::from_secs(20)).await;
    stage.region.entrance.open().await;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn is_unavailable(stage: &mut Stage) -> anyhow::Result<()> {
    let wait = Duration::from_secs(6);
    let (instance, _) = stage.newcomer().await?;
    stage.region.ingress.faults().unavailable = Some(wait);
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.has_claimed(&instance, 1).await?;
    let first = Instant::now();
    stage.has_claimed(&instance, 2).await?;
    // The first one was noticed up to one look later than it came.
    let waited = first.elapsed() + Duration::from_millis(300);
    ensure!(
        waited >= wait,
        "the agent asked again after {waited:?}, with a Retry-After of {wait:?}"
    );
    stage.region.ingress.faults().unavailable = None;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn is_foreign(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let foreign = Authority::new("Somebody Else")?.identity(&[PROVISIONER_NAME])?;
    stage.region.entrance.present(Some(foreign)).await;
    let mut site = stage.region.site(&instance, "[deadlines]\nclaim = \"4s\"\n")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["claim", PROVISIONER_NAME, "certificate", "ca_file"])?;
    ensure!(stage.claims_of(&instance) == 0, "the agent spoke to a stranger");
    stage.region.entrance.present(None).await;
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn swaps_the_key(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let thief = serde_json::to_value(PrivateKey::generate().public())?;
    let swap = move |_: &str, body: Bytes| altered(&body, "sender", &thief);
    stage.region.ingress.faults().rewrite_request = Some(Arc::new(swap));
    let mut site = stage.region.site(&instance, "[deadlines]\nclaim = \"4s\"\n")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["claim", PROVISIONER_NAME])?;
    let worker = stage.region.worker(&instance).await?.unwrap_or_default();
    ensure!(
        worker["status"]["claim"].is_null(),
        "the thief's claim was bound: {worker}"
    );
    stage.region.ingress.faults().rewrite_request = None;
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn swaps_the_answer(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let swapped = Arc::new(AtomicU32::new(0));
    let (count, stranger) = (swapped.clone(), serde_json::to_value(PrivateKey::generate().public())?);
    let swap = move |path: &str, body: Bytes| {
        if path.ends_with("/claim") && count.fetch_add(1, Ordering::Relaxed) < 2 {
            return altered(&body, "sender", &stranger);
        }
        body
    };
    stage.region.ingress.faults().rewrite_answer = Some(Arc::new(swap));
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage.joins(&instance, &site).await?;
    ensure!(swapped.load(Ordering::Relaxed) > 2, "no answer was swapped");
    ensure!(
        site.log().contains("altered"),
        "the agent does not say it:\n{}",
        site.log()
    );
    Ok(())
}

/// An envelope with one field replaced; what is none stays as it is.
fn altered(body: &[u8], field: &str, value: &Value) -> Bytes {
    match serde_json::from_slice::<Value>(body) {
        Ok(mut envelope) if envelope.get(field).is_some() => {
            envelope[field] = value.clone();
            envelope.to_string().into()
        }
        _ => Bytes::copy_from_slice(body),
    }
}
