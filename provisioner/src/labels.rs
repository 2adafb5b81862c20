//! The names that Kubernetes admits as labels and taints, and those that a kubelet may give to its own Node.

/// Whether this is a qualified name: `[<DNS subdomain>/]<name>`, the name at most 63 letters, digits, `-`, `_`, `.`
/// ([syntax](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set)).
pub fn is_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// Whether this can be the value of a label or a taint.
pub fn is_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether a kubelet may set this label on its own Node, on its command line and past the admission plugin
/// `NodeRestriction`. All others are the provisioner's to set.
pub fn kubelet_may_set(key: &str) -> bool {
    const ALLOWED: [&str; 10] = [
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    ];
    let Some((prefix, _)) = key.split_once('/') else {
        return true;
    };
    let within = |domain: &str| {
        prefix
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if within("node-restriction.kubernetes.io") {
        return false;
    }
    if within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
        return true;
    }
    !(within("kubernetes.io") || within("k8s.io")) || ALLOWED.contains(&key)
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric());
    text.len() <= 63 && text.bytes().all(inner) && outer(text.bytes().next()) && outer(text.bytes().last())
}

fn is_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{is_key, is_value, kubelet_may_set};

    #[test_case("example.com/burst", true; "with a prefix")]
    #[test_case("burst", true; "without a prefix")]
    #[test_case("a/b/c", false; "two slashes")]
    #[test_case("/burst", false; "empty prefix")]
    #[test_case("Example.com/burst", false; "prefix in upper case")]
    #[test_case("example.com/", false; "empty name")]
    #[test_case("-burst", false; "begins with a hyphen")]
    #[test_case("bur st", false; "a space")]
    fn knows_a_key(text: &str, valid: bool) {
        assert_eq!(is_key(text), valid);
    }

    #[test_case("", true; "empty")]
    #[test_case("spot", true; "a word")]
    #[test_case("a,b=c", false; "what would break out of an argument")]
    #[test_case("1234567890123456789012345678901234567890123456789012345678901234", false; "sixty-four letters")]
    fn knows_a_value(text: &str, valid: bool) {
        assert_eq!(is_value(text), valid);
    }

    #[test_case("example.com/burst", true; "a foreign domain")]
    #[test_case("burst", true; "no domain")]
    #[test_case("node.kubernetes.io/instance-type", true; "the kubelet's own domain")]
    #[test_case("topology.kubernetes.io/zone", true; "in the list")]
    #[test_case("node-role.kubernetes.io/worker", false; "a role")]
    #[test_case("node-restriction.kubernetes.io/tier", false; "restricted")]
    #[test_case("x.node-restriction.kubernetes.io/tier", false; "below restricted")]
    #[test_case("kubernetes.io/role", false; "not in the list")]
    #[test_case("sub.k8s.io/anything", false; "below k8s.io")]
    #[test_case("notkubernetes.io/anything", true; "only ends alike")]
    fn knows_what_a_kubelet_may_set(key: &str, may: bool) {
        assert_eq!(kubelet_may_set(key), may);
    }
}
