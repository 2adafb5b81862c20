//! systemd-resolved and systemd-networkd over D-Bus.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Context as _;
use zbus::Connection;
use zbus::connection::Builder;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;

pub(super) const RESOLVED: &str = "org.freedesktop.resolve1";
pub(super) const NETWORKD: &str = "org.freedesktop.network1";

/// How long a manager may take for one call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Address families as D-Bus carries them: `AF_INET` and `AF_INET6`.
const INET: i32 = 2;
const INET6: i32 = 10;

/// The system bus; `None` where there is none.
pub(super) async fn bus() -> Option<Connection> {
    match Builder::system().method_timeout(PATIENCE).build().await {
        Ok(connection) => Some(connection),
        Err(error) => {
            tracing::debug!("no system bus: {error}");
            None
        }
    }
}

/// Whether somebody on the bus has this name.
pub(super) async fn runs(bus: Option<&Connection>, name: &'static str) -> anyhow::Result<bool> {
    let Some(bus) = bus else { return Ok(false) };
    let failed = || format!("failed to ask the system bus whether `{name}` runs");
    let proxy = DBusProxy::new(bus).await.with_context(failed)?;
    let name = BusName::try_from(name).with_context(failed)?;
    proxy.name_has_owner(name).await.with_context(failed)
}

/// Makes these servers the ones that are asked for every name.
pub(super) async fn ask(bus: &Connection, index: u32, servers: &[IpAddr], search: &[String]) -> anyhow::Result<()> {
    let index = i32::try_from(index).context("failed to name the tunnel's interface to systemd-resolved")?;
    let servers: Vec<(i32, Vec<u8>)> = servers
        .iter()
        .map(|server| match server {
            IpAddr::V4(address) => (INET, address.octets().to_vec()),
            IpAddr::V6(address) => (INET6, address.octets().to_vec()),
        })
        .collect();
    // The root as a routing domain draws every name here; the others complete short names.
    let mut domains = vec![(".", true)];
    domains.extend(search.iter().map(|it| (it.as_str(), false)));
    call(bus, RESOLVED, "SetLinkDNS", &(index, servers)).await?;
    call(bus, RESOLVED, "SetLinkDomains", &(index, domains)).await?;
    // It writes its files when something changes and not otherwise, and somebody may have written into them. The root as a
    // domain draws every name here all the while.
    call(bus, RESOLVED, "SetLinkDefaultRoute", &(index, false)).await?;
    call(bus, RESOLVED, "SetLinkDefaultRoute", &(index, true)).await
}

/// Takes back what [`ask`] did.
pub(super) async fn forget(bus: &Connection, index: u32) -> anyhow::Result<()> {
    let index = i32::try_from(index).context("failed to name the tunnel's interface to systemd-resolved")?;
    call(bus, RESOLVED, "RevertLink", &(index,)).await
}

/// Lets systemd-networkd read its files again.
pub(super) async fn reload_networks(bus: &Connection) -> anyhow::Result<()> {
    call(bus, NETWORKD, "Reload", &()).await
}

async fn call<B>(bus: &Connection, service: &str, method: &str, body: &B) -> anyhow::Result<()>
where
    B: serde::Serialize + zbus::zvariant::DynamicType,
{
    let path = format!("/{}", service.replace('.', "/"));
    let interface = format!("{service}.Manager");
    bus.call_method(Some(service), path.as_str(), Some(interface.as_str()), method, body)
        .await
        .with_context(|| format!("failed to call `{method}` of `{service}`"))
        .map(|_| ())
}
