use test_case::test_case;

use super::Config;

const SAMPLE: &str = include_str!("../../testdata/provisioner.toml");

fn faults(text: &str) -> Vec<String> {
    toml::from_str::<Config>(text)
        .unwrap()
        .faults()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn the_sample_has_no_fault() {
    assert_eq!(faults(SAMPLE), Vec::<String>::new());
}

#[test]
fn the_server_always_has_a_port() {
    let config: Config = toml::from_str(&SAMPLE.replace("example:6443", "example")).unwrap();
    assert_eq!(config.cluster.server(), "https://api.onprem.example:443");
}

#[test_case("[times]", "[times]\ntombstones = 1"; "in a table")]
#[test_case("[cluster]", "debug = true\n[cluster]"; "at the top")]
#[test_case("effect = \"NoSchedule\"", "effect = \"Never\""; "an effect that does not exist")]
#[test_case("regions = [", "proof = \"none\"\nregions = ["; "a proof that does not exist")]
#[test_case("regions = [", "role = { name = \"node\" }\nregions = ["; "a role without its unique id")]
#[test_case("tombstone_seconds = 86400", "tombstone_seconds = -1"; "a negative time")]
fn refuses_what_it_does_not_know(right: &str, wrong: &str) {
    assert!(SAMPLE.contains(right));
    assert!(toml::from_str::<Config>(&SAMPLE.replace(right, wrong)).is_err());
}

#[test_case("https://api.onprem.example:6443", "http://api.onprem.example:6443", "cluster.server"; "no TLS")]
#[test_case("https://api.onprem.example:6443", "https://a:b@api.onprem.example", "cluster.server"; "a password")]
#[test_case("example:6443", "example:6443/path", "cluster.server"; "a path")]
#[test_case("0.0.0.0:8081", "0.0.0.0:8080", "health_listen"; "one port for both listeners")]
#[test_case(":sns:eu-central-1:", ":sqs:eu-central-1:", "sns.topics[0]"; "a queue for a topic")]
#[test_case("[\"arn:aws:sns:eu-central-1:123456789012:dynk8s\"]", "[]", "sns.topics"; "no topic")]
#[test_case("accounts = [\"123456789012\"]", "accounts = [\"12345\"]", "node_group[0].accounts[0]"; "a short account")]
#[test_case("accounts = [\"123456789012\"]", "accounts = []", "node_group[0].accounts"; "no account")]
#[test_case("regions = [\"eu-central-1\"]", "regions = [\"frankfurt\"]", "node_group[0].regions[0]"; "no region")]
#[test_case("\"example.com/burst\" = \"true\"", "\"example.com/burst\" = \"a b\"", "node_group[0].labels"; "a label's value")]
#[test_case("io/worker", "io/control-plane", "node_group[0].labels"; "a role of the control plane")]
#[test_case("key = \"example.com/burst\"", "key = \"a/b/c\"", "node_group[0].taints[0]"; "a taint's key")]
#[test_case("tombstone_seconds = 86400", "tombstone_seconds = 3600", "times.tombstone_seconds"; "forgets too soon")]
#[test_case("key_cooldown_seconds = 240", "key_cooldown_seconds = 86400", "times.key_cooldown_seconds"; "cools too long")]
#[test_case("token_seconds = 720", "token_seconds = 1", "times.token_seconds"; "a token that dies at once")]
#[test_case("name = \"burst\"", "name = \"\"", "node_group[0].name"; "no name")]
#[test_case("regions = [", "proof = \"document\"\nregions = [", "node_group[0].proof"; "a proof that binds nothing")]
#[test_case("regions = [", "accept_unbound_document = true\nregions = [", "node_group[0].accept_unbound_document"; "consent to nothing")]
#[test_case("regions = [", "role = { name = \"a/b\", unique_id = \"AROA0123456789ABCDEF\" }\nregions = [", "node_group[0].role.name"; "a role with its path")]
#[test_case("regions = [", "role = { name = \"\", unique_id = \"AROA0123456789ABCDEF\" }\nregions = [", "node_group[0].role.name"; "a role without a name")]
#[test_case("regions = [", "role = { name = \"node\", unique_id = \"AIDA0123456789ABCDEF\" }\nregions = [", "node_group[0].role.unique_id"; "a user's id for a role's")]
#[test_case("regions = [", "role = { name = \"node\", unique_id = \"AROA\" }\nregions = [", "node_group[0].role.unique_id"; "a short id")]
#[test_case("regions = [", "proof = \"sts\"\nrole = { name = \"node\", unique_id = \"AROA0123456789ABCDEF\" }\nregions = [", "node_group[0].role"; "a role that anyone may have assumed")]
fn finds_the_fault(right: &str, wrong: &str, place: &str) {
    assert!(SAMPLE.contains(right));
    let faults = faults(&SAMPLE.replace(right, wrong));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with(&format!("`{place}`: ")), "{faults:?}");
}

#[test]
fn finds_all_faults_at_once() {
    let text = SAMPLE
        .replace("https:", "http:")
        .replace("= 86400", "= 60")
        .replace("123456789012", "1234");
    assert_eq!(faults(&text).len(), 5, "{:?}", faults(&text));
}

#[test]
fn an_instance_belongs_to_the_first_group_that_lists_both_account_and_region() {
    let config: Config = toml::from_str(SAMPLE).unwrap();
    let group = |account, region| config.group_of(account, region).map(|it| it.name.as_str());
    assert_eq!(group("123456789012", "eu-central-1"), Some("burst"));
    assert_eq!(group("123456789012", "eu-west-1"), None);
    assert_eq!(group("999999999999", "eu-central-1"), None);
}

#[test]
fn what_cannot_be_parsed_is_told_in_one_line() {
    let text = SAMPLE.replacen("[cluster]", "[cluster]\ndebug = true", 1);
    let line = text.lines().position(|it| it == "debug = true").unwrap() + 1;
    let error = toml::from_str::<Config>(&text).unwrap_err();
    let told = super::read::place(&text, &error);
    assert!(
        told.starts_with(&format!("line {line}: unknown field `debug`")) && !told.contains('\n'),
        "{told}"
    );
}

#[test]
fn a_file_that_never_ends_is_refused() {
    let error = format!("{:#}", Config::read(std::path::Path::new("/dev/zero")).unwrap_err());
    assert_eq!(error, "failed to read `/dev/zero`: it is not a regular file");
}
