//! Which DNS servers the kubelet gives to pods.

use std::net::IpAddr;
use std::path::Path;

use tracing::debug;

use crate::host::files;
use crate::join;

/// What is there if the kubelet is told nothing else.
const DOMAIN: &str = "cluster.local";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClusterDns {
    pub(super) servers: Vec<IpAddr>,
    pub(super) domain: String,
}

pub(super) fn of_kubelet() -> Option<ClusterDns> {
    let text = files::read(Path::new(join::KUBELET_SETTINGS)).unwrap_or_else(|error| {
        debug!("{error:#}");
        None
    })?;
    Some(parse(&text))
}

/// Two fields of the file that kubeadm writes, whose form is always the same.
fn parse(text: &str) -> ClusterDns {
    let mut servers = Vec::new();
    let mut domain = DOMAIN.to_owned();
    let mut in_servers = false;
    for line in text.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| in_servers) {
            servers.extend(bare(item).parse::<IpAddr>());
            continue;
        }
        in_servers = line.trim_end() == "clusterDNS:";
        if let Some(value) = line.strip_prefix("clusterDomain:") {
            bare(value).clone_into(&mut domain);
        }
    }
    ClusterDns { servers, domain }
}

fn bare(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{ClusterDns, parse};

    #[test_case("clusterDNS:\n- 10.96.0.10\nclusterDomain: cluster.local\n", &["10.96.0.10"], "cluster.local"; "kubeadm")]
    #[test_case("clusterDNS:\n  - \"169.254.20.10\"\n  - fd00::a\nclusterDomain: \"onprem.example\"\n", &["169.254.20.10", "fd00::a"], "onprem.example"; "others")]
    #[test_case("clusterDNS: []\ntlsCipherSuites:\n- 10.0.0.1\n", &[], "cluster.local"; "none")]
    #[test_case("clusterDNS:\n- 10.96.0.10\nnotAddresses:\n- 10.0.0.1\n", &["10.96.0.10"], "cluster.local"; "another list behind it")]
    #[test_case("clusterDNS:\n- dns.example\n", &[], "cluster.local"; "a name")]
    #[test_case("", &[], "cluster.local"; "nothing")]
    fn reads_what_kubeadm_writes(text: &str, servers: &[&str], domain: &str) {
        let servers = servers.iter().map(|it| it.parse().unwrap()).collect();
        let domain = domain.to_owned();
        assert_eq!(parse(text), ClusterDns { servers, domain });
    }
}
