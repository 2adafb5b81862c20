//! `plan`: what `run` would do on this machine now. It looks as the journey would look, asks AWS's metadata and the VPC's
//! resolvers, never the provisioner, and changes nothing.

mod decide;
mod outline;
mod render;

use std::net::IpAddr;
use std::path::Path;

use dynk8s_api::wireguard::Document;
use nix::unistd::Uid;

use crate::config::{self, Settings};
use crate::facts::{self, Facts, Imds};
use crate::host::service;
use crate::join;
use crate::join::preflight::decide::findings;
use crate::names;
use crate::state::{self, Kept, State};
use crate::tunnel::{self, Surroundings, UplinkLink};
use crate::uplink::{self, Uplink};

pub(crate) use outline::Outline;
pub(crate) use render::render;

use decide::{Before, Host, Journey, Resolvers, Start, Way};
use outline::Step;

/// What the files of an instance are called whose id is not known.
const UNKNOWN: &str = "/var/lib/dynk8s/<instance id>";

/// Looks, and tells what the journey would come to.
pub(crate) async fn preview(settings: &Settings) -> Outline {
    let found = facts::look(&Imds::new()).await;
    let known = found.as_ref().ok();
    let state = known.map(|it| State::at(Path::new(state::BASE), &it.id));
    let kept = state.as_ref().and_then(|it| it.kept().ok().flatten());
    let folder = state.as_ref().map_or_else(|| UNKNOWN.to_owned(), State::to_string);
    let journey = Journey {
        settings,
        before: before(state.as_ref(), kept.as_ref()),
        facts: known,
        state: &folder,
    };
    let uplink = Uplink::new(Path::new(uplink::REMEMBERED), uplink::SOURCES, Path::new(state::BASE)).only_looking();
    let link = tunnel::below().await;
    let steps = vec![
        begin(journey, state.as_ref(), found.as_ref().err()).await,
        claim(journey, &uplink).await,
        bring_up(journey, &uplink, &link, kept.as_ref()).await,
        switch(journey, &link, kept.as_ref()).await,
        join(journey, kept.as_ref()).await,
        decide::ready(journey),
    ];
    Outline { steps }
}

fn before(state: Option<&State>, kept: Option<&Kept>) -> Before {
    match kept {
        None => Before::New,
        Some(_) if state.is_some_and(join::has_succeeded) => Before::Joined,
        Some(_) => Before::Claimed,
    }
}

async fn begin(journey: Journey<'_>, state: Option<&State>, error: Option<&anyhow::Error>) -> Step {
    let unit = if service::booted_with_systemd() {
        service::state(service::UNIT).await.ok()
    } else {
        None
    };
    let start = Start {
        root: Uid::effective().is_root(),
        unit: unit.as_deref(),
        has_keys: state.is_some_and(|it| it.claim_key().exists() && it.kubelet_key().exists()),
        error,
    };
    decide::facts(journey, &start)
}

async fn claim(journey: Journey<'_>, uplink: &Uplink) -> Step {
    let settings = journey.settings;
    let first = settings.proxy.as_ref().unwrap_or(&settings.provisioner);
    let proxy = settings.proxy.as_ref().map(config::redacted);
    let way = Way {
        addresses: &uplink.resolve(first.host_str().unwrap_or_default()).await,
        resolvers: &uplink.servers(),
        proxy: proxy.as_deref(),
        left_overs: join::left_overs(),
    };
    decide::claim(journey, &way)
}

async fn bring_up(
    journey: Journey<'_>,
    uplink: &Uplink,
    link: &anyhow::Result<UplinkLink>,
    kept: Option<&Kept>,
) -> Step {
    let around = Surroundings {
        uplink,
        vpc: journey.facts.map_or(&[], |it: &Facts| &it.vpc),
        provisioner: journey.settings.provisioner.host_str().unwrap_or_default(),
        skew: None,
    };
    let lines = match (kept, link) {
        (Some(kept), Ok(link)) => Some(tunnel::foresee(&kept.wireguard, around, link).await),
        _ => None,
    };
    decide::tunnel(journey, link.as_ref().map(UplinkLink::to_string), lines)
}

async fn switch(journey: Journey<'_>, link: &anyhow::Result<UplinkLink>, kept: Option<&Kept>) -> Step {
    let way = match link {
        Ok(link) => names::foresee(link).await,
        Err(_) => Err(anyhow::anyhow!(
            "who manages the host's names cannot be told without the VPC's interface"
        )),
    };
    let document = kept.and_then(|it| Document::parse(it.wireguard.expose()).ok());
    let servers: Option<Vec<IpAddr>> = document.map(|it| it.interface.dns);
    let resolvers = Resolvers {
        way,
        are_alone: servers.as_ref().is_some_and(|it| names::check(it).is_ok()),
        servers: servers.as_deref(),
    };
    decide::names(journey, resolvers)
}

async fn join(journey: Journey<'_>, kept: Option<&Kept>) -> Step {
    let settings = journey.settings;
    let version = join::version().await;
    let runtime = join::runtime(settings.cri_socket.as_deref()).await;
    let (mut found, mut kubelet_enabled) = (None, None);
    if service::booted_with_systemd() {
        let kubelet = version.as_deref().unwrap_or_default();
        let socket = runtime.as_deref().unwrap_or_default();
        let seen = join::preflight::look(kubelet, settings.keep_swap, socket).await;
        found = Some(seen.map(|mut it| {
            // The kubelet of an earlier join goes with the reset.
            it.port_taken &= !join::left_overs();
            findings(&it)
        }));
        kubelet_enabled = join::kubelet_is_enabled().await.ok();
    }
    let skew = version
        .as_ref()
        .ok()
        .zip(kept)
        .and_then(|(version, kept)| join::skew(version, &kept.cluster.version).err());
    let host = Host {
        kubeadm: &version.map(|it| {
            let api = join::api_version(&it);
            (it, api)
        }),
        runtime: &runtime,
        findings: found.as_ref(),
        kubelet_enabled,
        skew: skew.as_deref(),
        material: &join::material_files(),
        key: join::KEY_PLACE,
    };
    decide::join(journey, &host)
}
