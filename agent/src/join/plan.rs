//! What is looked at before a join, because kubeadm does not, and how long a try of it may take.

use std::time::Duration;

/// Whether a kubelet of this version may join: it must not be newer than the API server, by minor release.
pub(crate) fn skew(kubelet: &str, server: &str) -> Result<(), String> {
    let (Some(node), Some(api)) = (minor(kubelet), minor(server)) else {
        return Err(format!(
            "cannot compare the kubelet's version `{kubelet}` with the API server's `{server}`"
        ));
    };
    if node > api {
        return Err(format!(
            "the kubelet ({kubelet}) is newer than the API server ({server}), which Kubernetes does not support; install \
             kubelet and kubeadm of its release or an older one in the image"
        ));
    }
    if node.1 < OLDEST_KUBEADM {
        return Err(format!(
            "kubeadm {kubelet} is too old: 1.{OLDEST_KUBEADM} is the oldest that is supported"
        ));
    }
    Ok(())
}

/// The first minor release that reads `kubeadm.k8s.io/v1beta3` and merge patches of the kubelet's configuration.
const OLDEST_KUBEADM: u32 = 25;

/// The first minor release that reads `kubeadm.k8s.io/v1beta4`.
const V1BETA4: u32 = 31;

/// The version of the configuration that a kubeadm reads. What comes after the newest that is known reads that one too, or
/// says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V1beta3,
    V1beta4,
}

impl Dialect {
    /// What the kubeadm of this version speaks.
    pub(crate) fn of(kubeadm: &str) -> Self {
        match minor(kubeadm) {
            Some((1, minor)) if minor < V1BETA4 => Self::V1beta3,
            _ => Self::V1beta4,
        }
    }

    /// Its name.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }
}

/// What kubeadm is told to wait for at most, from v1beta4 on: discovery, the kubelet's health, its certificate. Before, it can be
/// told the first alone, and waits five minutes for the last.
pub(super) const DISCOVERY: Duration = Duration::from_mins(1);
pub(super) const KUBELET_HEALTH: Duration = Duration::from_mins(2);
pub(super) const TLS_BOOTSTRAP: Duration = Duration::from_secs(90);

/// How long one try may take: all that kubeadm is told, and some air. A kubeadm that cannot be told is ended, so that another try
/// fits behind it.
pub(super) const LONGEST: Duration = Duration::from_secs(285);

/// As kubeadm reads it.
pub(super) fn duration(it: Duration) -> String {
    format!("{}m{}s", it.as_secs() / 60, it.as_secs() % 60)
}

/// The swap areas that `/proc/swaps` lists.
pub(crate) fn swap(table: &str) -> Vec<String> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

pub(crate) fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let number = |text: &str| text.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use std::time::Duration;

    use super::{DISCOVERY, Dialect, KUBELET_HEALTH, LONGEST, TLS_BOOTSTRAP, skew, swap};
    use crate::config::Deadlines;

    /// Claim, tunnel and names before the first try; a reset and a claim before the second.
    const BESIDES: Duration = Duration::from_secs(30);
    /// kubeadm's own patience with the kubelet's certificate, of which v1beta3 lets nobody tell it.
    const UNTOLD: Duration = Duration::from_mins(5);

    #[test]
    fn two_tries_fit_into_the_time_for_the_join() {
        let deadlines = Deadlines::default();
        assert!(2 * LONGEST + BESIDES <= deadlines.join.min(deadlines.together()));
        assert!(
            DISCOVERY + KUBELET_HEALTH + TLS_BOOTSTRAP < LONGEST,
            "kubeadm says itself why it fails"
        );
        assert!(
            LONGEST < DISCOVERY + UNTOLD,
            "without us, v1beta3 would leave no time for another try"
        );
        assert!(
            LONGEST > DISCOVERY + KUBELET_HEALTH,
            "and has the time of the newer one for most of it"
        );
    }

    #[test_case("v1.37.2", "v1.37.0", true; "the same minor release")]
    #[test_case("v1.35.9", "v1.37.0", true; "older")]
    #[test_case("v1.37.2+abc", "v1.37.0", true; "a vendor's build")]
    #[test_case("v1.38.0", "v1.37.9", false; "newer")]
    #[test_case("v1.30.1", "v1.31.0", true; "before v1beta4")]
    #[test_case("v1.24.1", "v1.31.0", false; "before merge patches")]
    #[test_case("v2.0.0", "v1.37.0", false; "another age")]
    #[test_case("1.37", "v1.37.0", false; "no version")]
    #[test_case("", "", false; "nothing")]
    fn compares_versions(kubelet: &str, server: &str, expected: bool) {
        assert_eq!(skew(kubelet, server).is_ok(), expected);
    }

    #[test_case("Filename Type Size Used Priority\n", &[]; "none")]
    #[test_case("", &[]; "no table")]
    #[test_case("Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n/swap file 1 0 -2\n", &["/dev/zram0", "/swap"]; "two")]
    fn lists_swap(table: &str, expected: &[&str]) {
        assert_eq!(swap(table), expected);
    }

    #[test_case("v1.25.0", Dialect::V1beta3)]
    #[test_case("v1.30.14", Dialect::V1beta3)]
    #[test_case("v1.31.0", Dialect::V1beta4)]
    #[test_case("v1.36.2+abc", Dialect::V1beta4)]
    #[test_case("v1.99.0", Dialect::V1beta4)]
    fn speaks_what_kubeadm_reads(version: &str, expected: Dialect) {
        assert_eq!(Dialect::of(version), expected);
    }
}
