//! Who manages the host's names, and hence how they are set right: in the way that the manager respects.

mod steps;

use std::path::{Path, PathBuf};

pub(super) use steps::{Back, Step, back, steps};

/// The files that systemd-resolved keeps, one of which `/etc/resolv.conf` points at where it is in charge.
pub(super) const RESOLVED_FILES: &[&str] = &[
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
];

/// What was found on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) etc: Etc,
    pub(super) resolved: bool,
    /// Whether NetworkManager manages the uplink.
    pub(super) network_manager: bool,
    /// The uplink's file, if systemd-networkd manages it.
    pub(super) network_file: Option<PathBuf>,
}

/// What `/etc/resolv.conf` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Etc {
    Absent,
    File,
    Link(PathBuf),
}

/// How the names are set right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// systemd-resolved asks, systemd-networkd tells it whom.
    Resolved { network_file: PathBuf },
    /// systemd-resolved asks, NetworkManager tells it whom.
    ResolvedWithNetworkManager,
    /// NetworkManager writes the file, or whatever the file points at.
    NetworkManager,
    /// Nobody manages the file.
    Plain,
}

/// A host whose names this agent does not know how to set right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the host's names are managed in a way that this agent does not know ({0}); known are systemd-resolved with \
     systemd-networkd or NetworkManager, NetworkManager alone, and a plain `/etc/resolv.conf` that nothing manages"
)]
pub(super) struct Unknown(String);

/// Decides by what was found.
pub(super) fn way(found: &Found) -> Result<Way, Unknown> {
    match found {
        Found {
            network_manager: true,
            network_file: Some(_),
            ..
        } => unknown("NetworkManager and systemd-networkd both manage the VPC's interface"),
        Found { resolved: true, .. } => resolved_way(found),
        Found {
            network_manager: true, ..
        } => Ok(Way::NetworkManager),
        Found { etc, .. } => match etc {
            Etc::File | Etc::Absent => Ok(Way::Plain),
            Etc::Link(_) => unknown(&format!("`/etc/resolv.conf` {}", describe(etc))),
        },
    }
}

fn resolved_way(found: &Found) -> Result<Way, Unknown> {
    let in_charge = matches!(&found.etc, Etc::Link(target) if RESOLVED_FILES.iter().any(|it| target == Path::new(it)));
    match &found.network_file {
        _ if !in_charge => unknown(&format!(
            "systemd-resolved runs, but `/etc/resolv.conf` {}",
            describe(&found.etc)
        )),
        Some(file) => Ok(Way::Resolved {
            network_file: file.clone(),
        }),
        None if found.network_manager => Ok(Way::ResolvedWithNetworkManager),
        None => unknown(
            "systemd-resolved runs, but neither systemd-networkd nor NetworkManager manages the VPC's interface",
        ),
    }
}

fn unknown(why: &str) -> Result<Way, Unknown> {
    Err(Unknown(why.to_owned()))
}

/// Where systemd-networkd looks for drop-ins that the next boot forgets, and the name of ours.
pub(super) const DROP_INS: &str = "/run/systemd/network";
pub(super) const DROP_IN: &str = "90-dynk8s.conf";

/// What NetworkManager is told, until the next boot.
pub(super) const NETWORK_MANAGER_DROP_IN: &str = "/run/NetworkManager/conf.d/90-dynk8s.conf";

/// Where the drop-in for a network file goes: below /run, so that the next boot can resolve the endpoint again.
pub(super) fn drop_in(network_file: &Path) -> PathBuf {
    let name = network_file.file_name().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("{DROP_INS}/{name}.d/{DROP_IN}"))
}

/// The file that systemd-networkd's notes on a link name.
pub(super) fn network_file(notes: &str) -> Option<PathBuf> {
    let file = notes.lines().find_map(|line| line.strip_prefix("NETWORK_FILE="))?;
    (!file.is_empty()).then(|| PathBuf::from(file))
}

fn describe(etc: &Etc) -> String {
    match etc {
        Etc::Absent => "is missing".to_owned(),
        Etc::File => "is a file of its own".to_owned(),
        Etc::Link(target) => format!("points at `{}`", target.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use test_case::test_case;

    use super::{Etc, Found, Way, drop_in, network_file, way};

    const FILE: &str = "/etc/systemd/network/50-vpc.network";

    fn found(etc: Etc, resolved: bool, network_manager: bool, networkd: bool) -> Found {
        Found {
            etc,
            resolved,
            network_manager,
            network_file: networkd.then(|| PathBuf::from(FILE)),
        }
    }

    fn link(target: &str) -> Etc {
        Etc::Link(PathBuf::from(target))
    }

    #[test_case(&found(link("/run/systemd/resolve/stub-resolv.conf"), true, false, true); "the stub")]
    #[test_case(&found(link("/run/systemd/resolve/resolv.conf"), true, false, true); "what an earlier run made of it")]
    fn respects_resolved_and_networkd(found: &Found) {
        let network_file = PathBuf::from(FILE);
        assert_eq!(way(found).unwrap(), Way::Resolved { network_file });
    }

    #[test_case(link("/run/systemd/resolve/stub-resolv.conf"); "the stub")]
    #[test_case(link("/run/systemd/resolve/resolv.conf"); "what an earlier run made of it")]
    fn respects_resolved_and_network_manager(etc: Etc) {
        let found = found(etc, true, true, false);
        assert_eq!(way(&found).unwrap(), Way::ResolvedWithNetworkManager);
    }

    #[test_case(Etc::File; "its file, or what an earlier run made of it")]
    #[test_case(Etc::Absent; "no file yet")]
    #[test_case(link("/run/NetworkManager/resolv.conf"); "a link to its file")]
    #[test_case(link("/run/resolvconf/resolv.conf"); "a link to what it tells resolvconf")]
    fn respects_network_manager_alone(etc: Etc) {
        assert_eq!(way(&found(etc, false, true, false)).unwrap(), Way::NetworkManager);
    }

    #[test_case(&found(Etc::File, false, false, false); "a file")]
    #[test_case(&found(Etc::Absent, false, false, false); "no file")]
    #[test_case(&found(Etc::File, false, false, true); "networkd alone")]
    fn writes_a_file_that_nobody_manages(found: &Found) {
        assert_eq!(way(found).unwrap(), Way::Plain);
    }

    #[test_case(&found(link("/run/systemd/resolve/stub-resolv.conf"), true, true, true), "both manage"; "two managers")]
    #[test_case(&found(link("/run/systemd/resolve/stub-resolv.conf"), true, false, false), "neither"; "resolved without a manager")]
    #[test_case(&found(Etc::File, true, true, false), "is a file of its own"; "resolved and network manager beside a file")]
    #[test_case(&found(Etc::File, true, false, true), "is a file of its own"; "resolved beside a file")]
    #[test_case(&found(link("/run/resolvconf/resolv.conf"), false, false, false), "points at `/run/resolvconf"; "resolvconf")]
    #[test_case(&found(link("/etc/elsewhere"), true, false, true), "points at `/etc/elsewhere`"; "a foreign link")]
    fn refuses_what_it_does_not_know(found: &Found, expected: &str) {
        let error = way(found).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn reads_networkds_notes() {
        let notes =
            "# This is private data.\nADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/50-vpc.network\n";
        assert_eq!(network_file(notes).as_deref(), Some(Path::new(FILE)));
        assert_eq!(network_file("ADMIN_STATE=unmanaged\n"), None);
        assert_eq!(network_file("NETWORK_FILE=\n"), None);
    }

    #[test]
    fn puts_the_drop_in_where_a_reboot_forgets_it() {
        let expected = Path::new("/run/systemd/network/50-vpc.network.d/90-dynk8s.conf");
        assert_eq!(drop_in(Path::new(FILE)), expected);
        assert_eq!(drop_in(Path::new("/usr/lib/systemd/network/50-vpc.network")), expected);
    }
}
