//! NetworkManager over D-Bus.

use anyhow::Context as _;
use zbus::{Connection, Message, OwnedObjectPath, OwnedVariant};

use super::resolved;

pub(super) const NETWORK_MANAGER: &str = "org.freedesktop.NetworkManager";
const PATH: &str = "/org/freedesktop/NetworkManager";
const DEVICE: &str = "org.freedesktop.NetworkManager.Device";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Of what `Reload` can read again: the configuration's files. What they change about DNS follows from it.
const CONFIGURATION: u32 = 1;

/// Whether it runs, and this interface is its to manage.
pub(super) async fn manages(bus: Option<&Connection>, interface: &str) -> anyhow::Result<bool> {
    let Some(bus) = bus else { return Ok(false) };
    if !resolved::runs(Some(bus), NETWORK_MANAGER).await? {
        return Ok(false);
    }
    let named = || format!("failed to ask NetworkManager whether it manages `{interface}`");
    let device = call(bus, PATH, NETWORK_MANAGER, "GetDeviceByIpIface", &(interface,)).await;
    let device: OwnedObjectPath = match device {
        // It knows no such device.
        Err(zbus::Error::MethodError(..)) => return Ok(false),
        answer => answer.with_context(named)?.body().deserialize().with_context(named)?,
    };
    let managed = call(bus, device.as_str(), PROPERTIES, "Get", &(DEVICE, "Managed")).await;
    let managed: OwnedVariant = managed.with_context(named)?.body().deserialize().with_context(named)?;
    bool::try_from(managed).with_context(named)
}

/// Lets it read its configuration again.
pub(super) async fn reload(bus: &Connection) -> anyhow::Result<()> {
    call(bus, PATH, NETWORK_MANAGER, "Reload", &(CONFIGURATION,))
        .await
        .with_context(|| format!("failed to call `Reload` of `{NETWORK_MANAGER}`"))
        .map(|_| ())
}

async fn call<B>(bus: &Connection, path: &str, interface: &str, method: &str, body: &B) -> zbus::Result<Message>
where
    B: serde::Serialize + zbus::zvariant::DynamicType,
{
    bus.call_method(Some(NETWORK_MANAGER), path, Some(interface), method, body)
        .await
}
