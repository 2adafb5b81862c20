//! The files of the names step, as text.

use std::net::IpAddr;

/// glibc reads no more `nameserver` lines (`MAXNS` of `resolv.h`), and a kubelet passes no more on.
const MOST_SERVERS: usize = 3;

/// How the agent's own resolver files begin.
pub(crate) const HEADER: &str = "# Written by dynk8s-agent: the on-premises resolvers, reached through the tunnel.\n";

/// The servers that a resolver file can name.
pub(super) fn first_servers(servers: &[IpAddr]) -> &[IpAddr] {
    &servers[..servers.len().min(MOST_SERVERS)]
}

/// A resolver file.
pub(super) fn resolv_conf(servers: &[IpAddr], search: &[String]) -> String {
    let servers = first_servers(servers).iter().map(|it| format!("nameserver {it}\n"));
    let search = match search {
        [] => String::new(),
        domains => format!("search {}\n", domains.join(" ")),
    };
    format!(
        "{HEADER}{}{search}options timeout:2 attempts:3\n",
        servers.collect::<String>()
    )
}

/// A drop-in that makes systemd-networkd keep what DHCP says about DNS to itself.
pub(super) const NETWORK_DROP_IN: &str =
    "# Written by dynk8s-agent, until the next boot: only the tunnel's resolvers are asked.
[DHCPv4]
UseDNS=no
UseDomains=no

[DHCPv6]
UseDNS=no
UseDomains=no

[IPv6AcceptRA]
UseDNS=no
UseDomains=no
";

/// A drop-in that makes NetworkManager keep what DHCP says about DNS to itself, and its hands off the tunnel.
pub(super) const NETWORK_MANAGER_DROP_IN: &str =
    "# Written by dynk8s-agent, until the next boot: only the tunnel's resolvers are asked.
[main]
dns=none
systemd-resolved=false

[keyfile]
unmanaged-devices+=interface-name:dynk8s
";

/// The hosts file with the node's own name in it, so that nobody waits for a resolver that does not know it; `None` if
/// it says so already.
pub(super) fn hosts(text: &str, name: &str) -> Option<String> {
    let known = text.lines().any(|line| {
        let entry = line.split('#').next().unwrap_or_default();
        entry.split_whitespace().skip(1).any(|it| it.eq_ignore_ascii_case(name))
    });
    if known {
        return None;
    }
    let newline = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Some(format!("{text}{newline}127.0.1.1 {name}\n"))
}

/// The hosts file without the line that [`hosts`] adds.
pub(super) fn hosts_without(text: &str, name: &str) -> String {
    let added = format!("127.0.1.1 {name}");
    text.split_inclusive('\n').filter(|it| it.trim_end() != added).collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use test_case::test_case;

    use super::{HEADER, hosts, hosts_without, resolv_conf};

    #[test_case(&["192.168.10.1"], &[], "nameserver 192.168.10.1\n"; "one server")]
    #[test_case(&["fd00::1"], &["onprem.example", "lan"], "nameserver fd00::1\nsearch onprem.example lan\n"; "search domains")]
    #[test_case(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], &[],
        "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"; "no more than are read")]
    fn renders_a_resolver_file(servers: &[&str], search: &[&str], expected: &str) {
        let servers: Vec<IpAddr> = servers.iter().map(|it| it.parse().unwrap()).collect();
        let search: Vec<String> = search.iter().map(ToString::to_string).collect();
        let expected = format!("{HEADER}{expected}options timeout:2 attempts:3\n");
        assert_eq!(resolv_conf(&servers, &search), expected);
    }

    #[test_case("", Some("127.0.1.1 i-0123abcd\n"); "an empty file")]
    #[test_case("127.0.0.1 localhost", Some("127.0.0.1 localhost\n127.0.1.1 i-0123abcd\n"); "a last line without its end")]
    #[test_case("127.0.1.1 ip-172 I-0123ABCD # x\n", None; "a known name")]
    #[test_case("# 127.0.1.1 i-0123abcd\n", Some("# 127.0.1.1 i-0123abcd\n127.0.1.1 i-0123abcd\n"); "a comment")]
    fn adds_the_nodes_name_once(text: &str, expected: Option<&str>) {
        let added = hosts(text, "i-0123abcd");
        assert_eq!(added.as_deref(), expected);
        if let Some(added) = added {
            assert_eq!(hosts(&added, "i-0123abcd"), None);
            assert_eq!(hosts_without(&added, "i-0123abcd").trim_end(), text.trim_end());
        }
    }

    #[test]
    fn takes_out_its_own_line_alone() {
        let text = "127.0.1.1 i-0123abcd extra\n127.0.1.1 i-0123abcd\n127.0.1.1 i-0123abcde\nlast";
        let expected = "127.0.1.1 i-0123abcd extra\n127.0.1.1 i-0123abcde\nlast";
        assert_eq!(hosts_without(text, "i-0123abcd"), expected);
    }
}
