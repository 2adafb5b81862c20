//! Versions of Kubernetes, and which of them go together
//! ([policy](https://kubernetes.io/releases/version-skew-policy/#kubelet)).

/// A kubelet may be so many minor versions older than the API server, and none newer.
const MAX_OLDER: u32 = 3;

/// Whether this is a version: `v1.37.2`, and after a hyphen or a plus what a distribution adds.
pub(super) fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v').filter(|it| it.len() <= 64) else {
        return false;
    };
    let (numbers, addition) = rest.split_at(rest.find(['-', '+']).unwrap_or(rest.len()));
    let number = |it: &str| (1..=4).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit());
    let added = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'+' | b'.');
    numbers.split('.').count() == 3 && numbers.split('.').all(number) && addition.bytes().all(added)
}

/// Why a kubelet of one version does not fit an API server of the other; `None` if it does, or if that cannot be told.
pub(super) fn skew(kubelet: &str, server: &str) -> Option<String> {
    let (ours, theirs) = (minor(server)?, minor(kubelet)?);
    let fits = (ours.saturating_sub(MAX_OLDER)..=ours).contains(&theirs);
    (!fits).then(|| {
        format!(
            "kubelet {kubelet} does not go with API server {server}: it must not be newer, nor more than {MAX_OLDER} minor \
             versions older"
        )
    })
}

fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::skew;

    #[test_case("v1.37.0", "v1.37.2", true; "the same")]
    #[test_case("v1.37.9", "v1.37.2", true; "a newer patch")]
    #[test_case("v1.34.0", "v1.37.2", true; "three older")]
    #[test_case("v1.33.0", "v1.37.2", false; "four older")]
    #[test_case("v1.38.0", "v1.37.2", false; "newer")]
    #[test_case("v1.36.4-eks-0a1b2c3", "v1.37.2+k3s1", true; "of distributions")]
    #[test_case("v1.38.0", "unknown", true; "an API server that does not say")]
    fn tells_what_fits(kubelet: &str, server: &str, fits: bool) {
        assert_eq!(skew(kubelet, server).is_none(), fits);
    }
}
