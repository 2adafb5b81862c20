//! From which mirror the packages of a Debian come: from the one that this host uses, or from Debian's own.

use std::process::Stdio;

use tokio::process::Command;

/// The release that the machine runs: containerd 1.7, systemd 257.
pub(crate) const SUITE: &str = "trixie";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DEBIAN: [(&str, &str); 3] = [
    ("http://deb.debian.org/debian", ""),
    ("http://deb.debian.org/debian", "-updates"),
    ("http://deb.debian.org/debian-security", "-security"),
];
/// How apt reaches a mirror, and what it believes of its dates: the host has its reasons for these.
const KEPT_OPTIONS: [&str; 4] = ["Acquire::http", "Acquire::https", "Acquire::Check-", "Acquire::Retries"];

/// Words for `mmdebstrap`: where this host gets its packages, what else to make of them, and where to.
pub(super) async fn words(recipe: &[String], target: &str) -> Vec<String> {
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let targets = ask(&[
        "apt-get",
        "indextargets",
        "--no-release-info",
        "--format",
        "$(REPO_URI) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ])
    .await;
    let dump = ask(&["apt-config", "dump"]).await;
    let mut words: Vec<_> = options(&dump)
        .into_iter()
        .map(|option| format!("--aptopt={option}"))
        .collect();
    words.extend_from_slice(recipe);
    words.extend([SUITE, target].map(ToOwned::to_owned));
    words.extend(sources(&os_release, &targets));
    words
}

/// What a program of the host's apt says: nothing on a host without apt, where Debian's own mirror will do.
async fn ask(words: &[&str]) -> String {
    let answer = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .await;
    answer.map_or_else(|_| String::new(), |it| String::from_utf8_lossy(&it.stdout).into_owned())
}

/// Lines for apt's list of sources, made of lines `<address> <suite> <component>` with those of the host.
fn sources(os_release: &str, targets: &str) -> Vec<String> {
    let found = host_suite(os_release).map_or_else(Vec::new, |suite| of_host(suite, targets));
    if found.iter().any(|(_, part)| part.is_empty()) {
        return found.into_iter().map(|(address, part)| line(address, part)).collect();
    }
    DEBIAN.map(|(address, part)| line(address, part)).into()
}

/// Options of the host's apt, from what `apt-config dump` says.
fn options(dump: &str) -> Vec<String> {
    dump.lines()
        .filter(|line| KEPT_OPTIONS.iter().any(|kept| line.starts_with(kept)))
        .map(ToOwned::to_owned)
        .collect()
}

/// The host's suite, if it is a Debian.
fn host_suite(os_release: &str) -> Option<&str> {
    let value = |key: &str| {
        let mut values = os_release
            .lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        values.next().map(|value| value.trim_matches('"'))
    };
    (value("ID") == Some("debian"))
        .then(|| value("VERSION_CODENAME"))
        .flatten()
}

/// Addresses, each with the part of the release that it serves: updates, security or, with an empty name, the release itself.
fn of_host<'a>(suite: &str, targets: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for target in targets.lines() {
        if let [address, its_suite, "main"] = target.split_whitespace().collect::<Vec<_>>()[..]
            && let Some(part @ ("" | "-updates" | "-security")) = its_suite.strip_prefix(suite)
            && !found.contains(&(address, part))
        {
            found.push((address, part));
        }
    }
    found
}

fn line(address: &str, part: &str) -> String {
    format!("deb [signed-by={KEYRING}] {address} {SUITE}{part} main")
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const BOOKWORM: &str = "ID=debian\nVERSION_CODENAME=bookworm\n";
    const OWN: &str =
        "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main";

    #[test]
    fn the_host_mirror_is_used_with_our_suite() {
        let targets = "http://mirror.example/debian/ bookworm main\n\
                       http://mirror.example/debian/ bookworm main\n\
                       http://mirror.example/debian/ bookworm contrib\n\
                       http://mirror.example/debian/ bookworm-backports main\n\
                       http://mirror.example/security/ bookworm-security main\n\
                       http://other.example/ stable main\n";
        let keyring = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
        assert_eq!(
            sources(BOOKWORM, targets),
            [
                format!("{keyring} http://mirror.example/debian/ trixie main"),
                format!("{keyring} http://mirror.example/security/ trixie-security main"),
            ]
        );
    }

    #[test_case("", ""; "nothing is known")]
    #[test_case("ID=ubuntu\nVERSION_CODENAME=noble\n", "http://mirror.example noble main\n"; "another distribution")]
    #[test_case(BOOKWORM, "http://mirror.example bookworm-security main\n"; "no source of the release itself")]
    fn else_it_is_the_mirror_of_debian(os_release: &str, targets: &str) {
        let lines = sources(os_release, targets);
        assert_eq!((lines.len(), lines[0].as_str()), (3, OWN));
    }

    #[test]
    fn proxies_and_beliefs_are_kept() {
        let dump = "APT::Architecture \"amd64\";\nAcquire::http::Proxy \"http://proxy.example:3128\";\n\
                    Acquire::Languages \"\";\nAcquire::Check-Date \"false\";\n";
        assert_eq!(
            options(dump),
            [
                "Acquire::http::Proxy \"http://proxy.example:3128\";",
                "Acquire::Check-Date \"false\";"
            ]
        );
    }
}
