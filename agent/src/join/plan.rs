//! What is looked at before a join, because kubeadm does not.

use super::decide::SWAP;

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
            "kubeadm {kubelet} is too old: 1.{OLDEST_KUBEADM} is the first that reads v1beta4"
        ));
    }
    Ok(())
}

/// The first minor release that reads `kubeadm.k8s.io/v1beta4`.
const OLDEST_KUBEADM: u32 = 31;

/// The swap areas that `/proc/swaps` lists.
pub(crate) fn swap(table: &str) -> Option<String> {
    let areas: Vec<&str> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    (!areas.is_empty()).then(|| {
        format!(
            "swap is on (`{}`), of which a kubelet dies by default; {SWAP}",
            areas.join("`, `")
        )
    })
}

fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let number = |text: &str| text.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{skew, swap};

    #[test_case("v1.37.2", "v1.37.0", true; "the same minor release")]
    #[test_case("v1.35.9", "v1.37.0", true; "older")]
    #[test_case("v1.37.2+abc", "v1.37.0", true; "a vendor's build")]
    #[test_case("v1.38.0", "v1.37.9", false; "newer")]
    #[test_case("v1.30.1", "v1.31.0", false; "before v1beta4")]
    #[test_case("v2.0.0", "v1.37.0", false; "another age")]
    #[test_case("1.37", "v1.37.0", false; "no version")]
    #[test_case("", "", false; "nothing")]
    fn compares_versions(kubelet: &str, server: &str, expected: bool) {
        assert_eq!(skew(kubelet, server).is_ok(), expected);
    }

    #[test]
    fn names_swap_and_how_to_turn_it_off() {
        assert_eq!(swap("Filename Type Size Used Priority\n"), None);
        let told = swap("Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n").unwrap();
        assert!(told.contains("`/dev/zram0`") && told.contains("swapoff"), "{told}");
    }
}
