//! What a node that is Ready needs around it, and Ready does not say: each API server behind `default/kubernetes`, cluster DNS by
//! UDP and by TCP, and pods' packets that fit into the tunnel. It is looked at with the kubelet's own rights, told, and never the
//! end of anything.

mod ask;
mod decide;
mod dns;
mod network;
mod settings;

use std::convert::Infallible;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::api_server::ApiServer;
use crate::timeline::Recorder;

use decide::{Seen, findings};

/// kube-proxy and the network's own pods start on a node that is Ready, too.
const SETTLES_WITHIN: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(10);

/// A look costs a dozen packets; what is wrong may be mended by somebody who waits to see it.
const AGAIN: Duration = Duration::from_hours(1);
const AGAIN_IF_IMPAIRED: Duration = Duration::from_mins(5);

/// Looks once: what is wrong, each with its remedy; `None` if nothing could be looked at.
pub(crate) async fn look(api_server: ApiServer<'_>) -> Option<Vec<String>> {
    let (servers, dns) = tokio::join!(servers(api_server), cluster_dns(api_server));
    let mtu = network::mtu();
    findings(&Seen { servers, dns, mtu })
}

/// Looks around, tells what is new, and looks again, for as long as it is let.
pub(crate) async fn keep_looking(api_server: ApiServer<'_>, recorder: &Recorder, report: impl AsyncFn()) -> Infallible {
    let mut told = None;
    loop {
        let found = settled(api_server).await;
        let impaired = found.as_ref().is_some_and(|it| !it.is_empty());
        if let Some(found) = found.filter(|it| told.as_ref() != Some(it)) {
            if found.is_empty() {
                info!(
                    "around this node all works that could be looked at: the API servers, cluster DNS, the pods' MTU"
                );
            }
            for finding in &found {
                warn!("{finding}");
            }
            recorder.look_around(found.clone());
            report().await;
            told = Some(found);
        }
        sleep(if impaired { AGAIN_IF_IMPAIRED } else { AGAIN }).await;
    }
}

/// What is wrong once everything had the time to start.
async fn settled(api_server: ApiServer<'_>) -> Option<Vec<String>> {
    let end = Instant::now() + SETTLES_WITHIN;
    loop {
        let found = look(api_server).await;
        let impaired = found.as_ref().is_some_and(|it| !it.is_empty());
        if !impaired || Instant::now() > end {
            return found;
        }
        sleep(PAUSE).await;
    }
}

async fn servers(api_server: ApiServer<'_>) -> Vec<decide::Tried> {
    let endpoints = ask::read(api_server, "/api/v1/namespaces/default/endpoints/kubernetes").await;
    let addresses = decide::addresses(&endpoints);
    join_all(addresses.into_iter().map(|it| ask::tried(it, api_server.cluster))).await
}

async fn cluster_dns(api_server: ApiServer<'_>) -> Vec<decide::Asked> {
    let Some(settings) = settings::of_kubelet() else {
        return Vec::new();
    };
    let services = ask::read(api_server, "/api/v1/namespaces/kube-system/services").await;
    let served = settings.servers.iter().filter(|it| decide::is_served(**it, &services));
    join_all(served.map(|it| ask::asked(*it, &settings.domain))).await
}
