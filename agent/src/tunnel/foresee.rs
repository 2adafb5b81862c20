//! What [`up`](super::up) would do now, for who changes nothing.

use anyhow::Context as _;
use dynk8s_api::Secret;

use super::plan::plan;
use super::{Netlink, Surroundings, UplinkLink, device, endpoint, read, render};

/// The interface that the tunnel would lie upon.
pub(crate) async fn below() -> anyhow::Result<UplinkLink> {
    Netlink::open()?.uplink().await
}

/// What this document would be made of, in lines. Each name is asked for once.
pub(crate) async fn foresee(text: &Secret, around: Surroundings<'_>, link: &UplinkLink) -> anyhow::Result<Vec<String>> {
    let document = read(text)?;
    let (endpoints, provisioner) = tokio::join!(
        endpoint::resolve_once(&document, around.uplink),
        around.uplink.resolve(around.provisioner),
    );
    let below = super::surveyed(around, link, provisioner);
    let plan = plan(&document, &endpoints?, &below).context(super::UNFIT)?;
    Ok(render::lines(&plan, link, device::changes(&plan)?))
}
