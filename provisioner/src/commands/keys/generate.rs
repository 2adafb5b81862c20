//! New keys for the pool, and their peers for the gateway.

use anyhow::{Context as _, anyhow};
use dynk8s_api::wireguard::Document;

use super::create::{NewKey, create, refused};
use super::decide::addresses::choose;
use super::decide::import::is_label;
use super::draw;
use super::render::{self, Gateway};
use crate::cli::keys::Generate;
use crate::commands::cluster::Cluster;
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;
use crate::document::{refusals, warnings};

/// Peers are printed after their Secrets are there: those of keys that nobody has would make a gateway of strangers.
const AGAIN: &str = "`keys export` prints the peers of all keys at any time";

pub(super) async fn generate(arguments: Generate, console: &mut Console) -> Result<(), Failure> {
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, arguments, console).await
}

pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    arguments: Generate,
    console: &mut Console,
) -> Result<(), Failure> {
    let gateway = Gateway {
        endpoint: arguments.endpoint,
        public_key: arguments.public_key,
        dns: arguments.dns,
        search: arguments.search,
        allowed_ips: arguments.allowed_ips,
        mtu: arguments.mtu,
    };
    let pool = cluster.pool().await?;
    let taken = pool.iter().flat_map(|it| it.addresses.iter().copied()).collect();
    let addresses = choose(arguments.network, arguments.first, arguments.count.into(), &taken)
        .map_err(|error| anyhow!(error).context("nothing was generated"))?;
    let (mut keys, mut peers) = (Vec::new(), String::new());
    for address in addresses {
        let (private, public) = draw::pair();
        let preshared = arguments.preshared.then(draw::preshared);
        let name = name(&arguments.prefix, &address.to_string()).map_err(Failure::Usage)?;
        let text = render::document(&gateway, address, &private, preshared.as_ref());
        peers += &render::peer(&name, public, preshared.as_ref(), &[address]);
        keys.push(NewKey { name, text });
    }
    if let Some(key) = keys.first() {
        check(key, console).map_err(Failure::Usage)?;
    }
    create(cluster, &keys, &arguments.labels).await?;
    let count = keys.len();
    let printed = console.print(&peers);
    if printed.is_err() || !console.is_read() {
        let lost = format!("created {count} Secrets, but not all of their peers found a reader; {AGAIN}");
        return Err(printed
            .err()
            .map_or_else(|| anyhow!(lost.clone()), |it| it.context(lost.clone()))
            .into());
    }
    console.note(&format!(
        "created {count} Secrets; add the peers above to the gateway before an instance gets one of them; {AGAIN}"
    ));
    Ok(())
}

/// What was asked for must be what a node can use: all documents are alike but for key and address.
fn check(key: &NewKey, console: &mut Console) -> anyhow::Result<()> {
    let document = Document::parse(key.text.expose()).context("nothing was generated, for nobody could use it")?;
    let refusals = refusals(&document);
    if !refusals.is_empty() {
        return Err(refused("nothing was generated, for nobody could use it", &refusals));
    }
    for warning in warnings(&document) {
        console.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn name(prefix: &str, address: &str) -> anyhow::Result<String> {
    let name = format!("{prefix}-{}", address.replace(['.', ':'], "-"));
    let name = name.trim_end_matches('-').to_owned();
    if is_label(&name) {
        Ok(name)
    } else {
        Err(anyhow!("no Secret can be named `{name}`; give another `--prefix`"))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::name;

    #[test_case("wireguard", "10.98.0.2", Some("wireguard-10-98-0-2"); "four")]
    #[test_case("wireguard", "fd00::2", Some("wireguard-fd00--2"); "six")]
    #[test_case("Wireguard", "10.98.0.2", None; "capitals")]
    #[test_case("", "10.98.0.2", None; "no prefix")]
    fn a_secret_is_named_after_its_address(prefix: &str, address: &str, expected: Option<&str>) {
        assert_eq!(name(prefix, address).ok().as_deref(), expected);
    }
}
