//! Claims that do not hold, and one that has to wait.

use std::sync::Arc;

use anyhow::ensure;
use axum::body::Bytes;
use axum::http::StatusCode;
use serde_json::json;

use crate::stage::{SOON, Stage, names};

const CREDENTIALS: &str = "/latest/meta-data/identity-credentials/ec2/security-credentials/ec2-instance";

const DOCUMENT: &str = "/latest/dynamic/instance-identity/rsa2048";

pub(crate) async fn proof_is_altered(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let real = stage.region.aws.cloud.credentials_of(&instance.id);
    let altered = json!({
        "Code": "Success",
        "LastUpdated": real.issued.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "Type": "AWS-HMAC",
        "AccessKeyId": real.access_key_id,
        "SecretAccessKey": "not the secret of these credentials",
        "Token": real.token,
        "Expiration": real.expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    let replacement = (StatusCode::OK, altered.to_string());
    stage
        .region
        .aws
        .imds
        .faults()
        .replace
        .insert(CREDENTIALS.to_owned(), replacement);
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["claim", "not-proven", "clock"])?;
    let worker = stage.region.worker(&instance).await?.unwrap_or_default();
    ensure!(worker["status"]["claim"].is_null(), "the claim was bound: {worker}");
    stage.region.aws.imds.faults().replace.clear();
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

/// As of a region that signs none, or of an agent of before: the group asks for both proofs.
pub(crate) async fn document_is_missing(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    let asked = |stage: &Stage| stage.region.aws.sts.journal().entries().len();
    let before = asked(stage);
    let nothing = (StatusCode::NOT_FOUND, String::new());
    stage
        .region
        .aws
        .imds
        .faults()
        .replace
        .insert(DOCUMENT.to_owned(), nothing);
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["claim", "not-proven"])?;
    ensure!(asked(stage) == before, "STS was asked for nothing");
    let worker = stage.region.worker(&instance).await?.unwrap_or_default();
    ensure!(worker["status"]["claim"].is_null(), "the claim was bound: {worker}");
    stage.region.aws.imds.faults().replace.clear();
    site.start()?;
    stage.joins(&instance, &site).await.map(drop)
}

pub(crate) async fn key_is_another(stage: &mut Stage) -> anyhow::Result<()> {
    let (instance, _) = stage.newcomer().await?;
    // The first one's answers get lost, so it has a claim and does not join.
    let lose = |_: &str, _: Bytes| Bytes::new();
    stage.region.ingress.faults().rewrite_answer = Some(Arc::new(lose));
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    stage
        .region
        .worker_until("the claim is bound and served", SOON, &instance, |it| {
            it["status"]["token"].is_object()
        })
        .await?;
    site.kill();
    stage.region.ingress.faults().rewrite_answer = None;
    site.room.remove("/var/lib/dynk8s")?;
    site.start()?;
    let line = site.verdict(SOON).await?;
    names(&line, &["claim", "another-key", "terminate"])?;
    stage
        .region
        .worker_until("the Worker has failed", SOON, &instance, |it| {
            it["status"]["phase"] == "Failed"
        })
        .await?;
    ensure!(
        stage.tokens_of(&instance).await?.is_empty(),
        "a token is left to the thief"
    );
    Ok(())
}

pub(crate) async fn pool_is_empty(stage: &mut Stage) -> anyhow::Result<()> {
    let instance = stage.announced().await?;
    let mut site = stage.region.site(&instance, "")?;
    site.start()?;
    site.says("pool-empty", SOON).await?;
    stage.add_key().await?;
    stage.joins(&instance, &site).await.map(drop)
}
