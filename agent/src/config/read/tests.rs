use std::time::Duration;

use test_case::test_case;

use super::{CredentialsOf, settings};

const GOOD: &str = "
    provisioner = \"https://dynk8s.example.com\"
    provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"
";

fn faults(text: &str) -> Vec<String> {
    settings(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn reads_the_least_that_is_needed() {
    let it = settings(GOOD).unwrap();
    assert_eq!(it.provisioner.as_str(), "https://dynk8s.example.com/");
    assert_eq!((it.ca_file, it.cri_socket), (None, None));
    assert_eq!(it.credentials, CredentialsOf::IdentityRole);
    assert_eq!(it.deadlines.claim, Duration::from_mins(10));
    assert!(!it.drain);
}

#[test]
fn reads_everything() {
    let text = format!(
        "{GOOD}\nca_file = \"/etc/ca.pem\"\ncri_socket = \"unix:///run/x.sock\"\ncredentials = \"instance-profile\"\n\
         [deadlines]\nclaim = \"90s\"\njoin = \"15m\"\n[guard]\ndrain = true"
    );
    let it = settings(&text).unwrap();
    assert_eq!(it.ca_file.unwrap().to_str(), Some("/etc/ca.pem"));
    assert_eq!(it.cri_socket.as_deref(), Some("unix:///run/x.sock"));
    assert_eq!(it.credentials, CredentialsOf::InstanceProfile);
    assert_eq!(it.deadlines.claim, Duration::from_secs(90));
    assert_eq!(it.deadlines.join, Duration::from_mins(15));
    assert!(it.drain);
}

#[test]
fn reads_the_file_that_is_shipped() {
    let shipped = include_str!("../../../../packaging/etc/agent.toml");
    let answered = shipped.replace(
        "provisioner_key = \"\"",
        "provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"",
    );
    settings(&answered).unwrap();
    let uncommented = answered.replace("\n#: ", "\n");
    assert_eq!(settings(&uncommented).unwrap().deadlines, super::Deadlines::default());
}

#[test]
fn lists_every_fault_at_once() {
    assert_eq!(
        faults("provisionr = \"x\"\nca_file = 1\n[deadlines]\nclaims = \"1s\"\njoin = \"soon\""),
        [
            "line 1: `provisionr` is unknown; did you mean `provisioner`?",
            "`provisioner` is missing",
            "`provisioner_key` is missing",
            "line 2: `ca_file` must be a string, not an integer",
            "line 4: `deadlines.claims` is unknown; did you mean `claim`?",
            "line 5: `deadlines.join` must be a length of time between 1s and 1h, as in \"90s\" or \"10m\"",
        ]
    );
}

#[test]
fn never_repeats_a_password() {
    let faults = faults("proxy = \"ftp://user:hunter2@a.example\"");
    assert!(faults.iter().all(|it| !it.contains("hunter2")), "{faults:?}");
}

#[test]
fn names_every_line_that_is_not_toml() {
    let faults = faults("provisioner = https\nswap = \"off\"\nca_file = [\n");
    assert!(faults.iter().any(|it| it.starts_with("line 1: ")), "{faults:?}");
    assert!(faults.iter().any(|it| it.starts_with("line 3: ")), "{faults:?}");
}

#[test_case("provisioner = \"http://a.example\"", "must be a URL that begins with https://"; "not https")]
#[test_case("provisioner = \"a.example\"", "is no URL"; "no scheme")]
#[test_case("provisioner = \"https://a.example/path\"", "must be scheme, host and port alone"; "a path")]
#[test_case("provisioner = \"https://u:p@a.example\"", "must be scheme, host and port alone"; "credentials")]
#[test_case("provisioner_key = \"AAAA\"", "is no key"; "a short key")]
#[test_case("ca_file = \"ca.pem\"", "must be an absolute path"; "a relative path")]
#[test_case("cri_socket = \"/run/x.sock\"", "must be a socket"; "a path for a socket")]
#[test_case("cri_socket = \"unix:///run/x --evil\"", "must be a socket"; "an argument smuggled in")]
#[test_case("credentials = \"any\"", "must be \"identity-role\""; "credentials of somebody")]
#[test_case("deadlines = 3", "must be a table"; "no table")]
#[test_case("deadlines = { join = \"0s\" }", "between 1s and 1h"; "no time at all")]
#[test_case("deadlines = { join = \"-5m\" }", "between 1s and 1h"; "negative time")]
#[test_case("deadlines = { join = 5 }", "must be a string"; "a bare number")]
#[test_case("guard = { drain = \"yes\" }", "must be true or false"; "no truth value")]
#[test_case("guard = { drian = true }", "did you mean `drain`"; "a misspelt key of the guard")]
#[test_case("guard = true", "must be a table"; "no table for the guard")]
#[test_case("completely_different = 1", "known are provisioner"; "nothing near")]
#[test_case("proxy = \"socks5://u:hunter2@a.example\"", "line 1: `proxy` must be a URL as in"; "a proxy of another kind")]
#[test_case("swap = \"maybe\"", "must be \"off\" or \"keep\""; "swap neither off nor kept")]
#[test_case("swap = false", "must be a string, not a boolean"; "swap as a boolean")]
#[test_case("on_failure = \"reboot\"", "must be \"none\" or \"poweroff\""; "another end")]
#[test_case("= nonsense", "line 1: is not TOML"; "not TOML")]
#[test_case("a = 1\na = 2", "line 2: is not TOML"; "a key twice")]
#[test_case("provisioner = \"https://a.example\"\nswap = [", "line 2: is not TOML"; "an open bracket")]
fn says_what_is_wrong(text: &str, expected: &str) {
    let faults = faults(text);
    assert!(faults.iter().any(|it| it.contains(expected)), "{faults:?}");
}
