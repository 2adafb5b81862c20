//! What is done on each way, in its order: the on-premises servers in first, those of AWS out second.

use std::path::PathBuf;

use super::{NETWORK_MANAGER_DROP_IN, Way, drop_in};
use crate::names::render;

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::names) enum Step {
    /// systemd-resolved asks the on-premises servers for every name.
    AskTunnel,
    /// A manager will find this among its files.
    DropIn { path: PathBuf, text: &'static str },
    /// systemd-networkd reads its files again.
    ReloadNetworkd,
    /// NetworkManager reads its files again.
    ReloadNetworkManager,
    /// systemd-resolved forgets what it was told of the VPC's interface: NetworkManager falls silent without taking it back.
    ForgetUplink,
    /// systemd-resolved names the on-premises servers alone.
    AwaitResolved,
    /// `/etc/resolv.conf` shows what systemd-resolved names.
    LinkHostFile,
    /// `/etc/resolv.conf` is the agent's own.
    WriteHostFile,
}

/// One thing that is taken back when a step has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::names) enum Back {
    /// `/etc/resolv.conf` is what it was.
    HostFile,
    DropIn(PathBuf),
    ReloadNetworkd,
    ReloadNetworkManager,
    /// systemd-resolved forgets the on-premises servers.
    ForgetTunnel,
}

/// The steps of a way.
pub(in crate::names) fn steps(way: &Way) -> Vec<Step> {
    let network_manager = || Step::DropIn {
        path: PathBuf::from(NETWORK_MANAGER_DROP_IN),
        text: render::NETWORK_MANAGER_DROP_IN,
    };
    match way {
        Way::Resolved { network_file } => vec![
            Step::AskTunnel,
            Step::DropIn {
                path: drop_in(network_file),
                text: render::NETWORK_DROP_IN,
            },
            Step::ReloadNetworkd,
            Step::AwaitResolved,
            Step::LinkHostFile,
        ],
        Way::ResolvedWithNetworkManager => vec![
            Step::AskTunnel,
            network_manager(),
            Step::ReloadNetworkManager,
            Step::ForgetUplink,
            Step::AwaitResolved,
            Step::LinkHostFile,
        ],
        // It would write over the file as long as it was not told.
        Way::NetworkManager => vec![network_manager(), Step::ReloadNetworkManager, Step::WriteHostFile],
        Way::Plain => vec![Step::WriteHostFile],
    }
}

/// How the steps are taken back: the host's own servers in first, those of the tunnel out last.
pub(in crate::names) fn back(way: &Way) -> Vec<Back> {
    let drop_ins = steps(way).into_iter().filter_map(|it| match it {
        Step::DropIn { path, .. } => Some(Back::DropIn(path)),
        _ => None,
    });
    let told: &[Back] = match way {
        Way::Resolved { .. } => &[Back::ReloadNetworkd, Back::ForgetTunnel],
        Way::ResolvedWithNetworkManager => &[Back::ReloadNetworkManager, Back::ForgetTunnel],
        Way::NetworkManager => &[Back::ReloadNetworkManager],
        Way::Plain => &[],
    };
    let mut back = vec![Back::HostFile];
    back.extend(drop_ins);
    back.extend_from_slice(told);
    back
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use test_case::test_case;

    use super::{Back, Step, back, steps};
    use crate::names::plan::Way;
    use crate::names::render::{NETWORK_DROP_IN, NETWORK_MANAGER_DROP_IN};

    fn resolved() -> Way {
        Way::Resolved {
            network_file: PathBuf::from("/etc/systemd/network/50-vpc.network"),
        }
    }

    fn drop_in(path: &str, text: &'static str) -> Step {
        let path = PathBuf::from(path);
        Step::DropIn { path, text }
    }

    #[test_case(&resolved(), &[
        Step::AskTunnel,
        drop_in("/run/systemd/network/50-vpc.network.d/90-dynk8s.conf", NETWORK_DROP_IN),
        Step::ReloadNetworkd,
        Step::AwaitResolved,
        Step::LinkHostFile,
    ]; "resolved with networkd")]
    #[test_case(&Way::ResolvedWithNetworkManager, &[
        Step::AskTunnel,
        drop_in("/run/NetworkManager/conf.d/90-dynk8s.conf", NETWORK_MANAGER_DROP_IN),
        Step::ReloadNetworkManager,
        Step::ForgetUplink,
        Step::AwaitResolved,
        Step::LinkHostFile,
    ]; "resolved with network manager")]
    #[test_case(&Way::NetworkManager, &[
        drop_in("/run/NetworkManager/conf.d/90-dynk8s.conf", NETWORK_MANAGER_DROP_IN),
        Step::ReloadNetworkManager,
        Step::WriteHostFile,
    ]; "network manager alone")]
    #[test_case(&Way::Plain, &[Step::WriteHostFile]; "nobody")]
    fn tells_managers_in_their_own_way(way: &Way, expected: &[Step]) {
        assert_eq!(steps(way), expected);
    }

    #[test_case(&resolved(), &[
        Back::HostFile,
        Back::DropIn(PathBuf::from("/run/systemd/network/50-vpc.network.d/90-dynk8s.conf")),
        Back::ReloadNetworkd,
        Back::ForgetTunnel,
    ]; "resolved with networkd")]
    #[test_case(&Way::ResolvedWithNetworkManager, &[
        Back::HostFile,
        Back::DropIn(PathBuf::from("/run/NetworkManager/conf.d/90-dynk8s.conf")),
        Back::ReloadNetworkManager,
        Back::ForgetTunnel,
    ]; "resolved with network manager")]
    #[test_case(&Way::NetworkManager, &[
        Back::HostFile,
        Back::DropIn(PathBuf::from("/run/NetworkManager/conf.d/90-dynk8s.conf")),
        Back::ReloadNetworkManager,
    ]; "network manager alone")]
    #[test_case(&Way::Plain, &[Back::HostFile]; "nobody")]
    fn takes_back_what_it_did(way: &Way, expected: &[Back]) {
        assert_eq!(back(way), expected);
    }
}
