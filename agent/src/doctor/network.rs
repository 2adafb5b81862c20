//! What lies between this machine and the cluster.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use jiff::Timestamp;

use super::{Check, Given};
use crate::api_server::ApiServer;
use crate::around;
use crate::clock;
use crate::config::Settings;
use crate::facts::Facts;
use crate::names;
use crate::ready::{Standing, Watch};
use crate::state;
use crate::tunnel;
use crate::uplink::{self, Uplink};

/// A session of WireGuard lives so long.
const SESSION: Duration = Duration::from_mins(3);

pub(super) async fn provisioner(settings: &Settings) -> Vec<Check> {
    let uplink = Uplink::new(Path::new(uplink::REMEMBERED), uplink::SOURCES, Path::new(state::BASE)).only_looking();
    let step = "claim";
    let reached = reach(settings, &uplink).await;
    let ahead = reached
        .as_ref()
        .ok()
        .and_then(|date| clock::ahead(date.as_deref()?, Timestamp::now()));
    let mut checks = vec![Check::of(
        step,
        reached.map(|_| format!("{} answers", settings.provisioner)),
    )];
    if let Some(warning) = ahead.and_then(clock::explain) {
        checks.push(Check::doubtful(step, warning));
    }
    checks
}

/// Any answer shows that name, way and certificate are right; its date is returned.
async fn reach(settings: &Settings, uplink: &Uplink) -> anyhow::Result<Option<String>> {
    let client = uplink::https_client(uplink, settings.ca_file.as_deref(), settings.proxy.as_ref())?;
    let answer = client.get(settings.provisioner.clone()).send().await;
    let answer = answer.with_context(|| {
        format!(
            "failed to reach the provisioner at {} (check name, security group, and certificate)",
            settings.provisioner
        )
    })?;
    let date = answer.headers().get(reqwest::header::DATE);
    Ok(date.and_then(|it| it.to_str().ok()).map(str::to_owned))
}

pub(super) fn tunnel() -> anyhow::Result<String> {
    let Some(last) = tunnel::last_handshake()? else {
        bail!(
            "the interface `{}` is not there, or nobody ever answered it; `dynk8s-agent status` tells how far the journey is",
            tunnel::INTERFACE
        );
    };
    let age = SystemTime::now().duration_since(last).unwrap_or_default();
    if age > SESSION {
        bail!(
            "the other side has not answered for {}s (check the gateway, UDP on the way, and both clocks)",
            age.as_secs()
        );
    }
    Ok(format!("the other side answered {}s ago", age.as_secs()))
}

pub(super) async fn names(given: &Given) -> Vec<Check> {
    let dns = &given.document.interface.dns;
    let listed = names::check(dns).map(|()| "all resolver files name the on-premises resolvers only".to_owned());
    let mut checks = vec![Check::of("names", listed)];
    for server in dns {
        let proven = names::proven(*server, &given.kept.cluster).await;
        let server = &given.kept.cluster.server;
        checks.push(Check::of(
            "names",
            proven.map(|()| format!("{server} answers, and its certificate is right")),
        ));
    }
    checks
}

/// What is wrong around a node is no fault of it.
pub(super) async fn around(given: &Given) -> Vec<Check> {
    let step = "around";
    match around::look(api_server(given)).await {
        None => vec![Check::doubtful(step, "nothing of what pods need could be looked at")],
        Some(found) if found.is_empty() => {
            let text = "all works that could be looked at: the API servers, cluster DNS, the pods' MTU";
            vec![Check::of(step, Ok(text.to_owned()))]
        }
        Some(found) => found.into_iter().map(|it| Check::doubtful(step, it)).collect(),
    }
}

fn api_server(given: &Given) -> ApiServer<'_> {
    ApiServer {
        cluster: &given.kept.cluster,
        resolvers: &given.document.interface.dns,
    }
}

pub(super) async fn node(facts: &Facts, given: &Given) -> anyhow::Result<String> {
    let watch = Watch {
        facts,
        api_server: api_server(given),
    };
    match watch.look().await? {
        Standing::Ready => Ok(format!("the Node `{}` is Ready", facts.id)),
        standing => Err(watch.complaint(&standing)),
    }
}
