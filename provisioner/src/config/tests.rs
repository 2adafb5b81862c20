use test_case::test_case;

use super::Config;

const SAMPLE: &str = include_str!("../../testdata/provisioner.toml");

/// Everything that a node group can say.
const GROUPS: &str = include_str!("../../testdata/groups.toml");

fn faults(text: &str) -> Vec<String> {
    toml::from_str::<Config>(text)
        .unwrap()
        .faults()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn the_samples_have_no_fault() {
    assert_eq!(faults(SAMPLE), Vec::<String>::new());
    assert_eq!(faults(GROUPS), Vec::<String>::new());
}

#[test]
fn the_server_always_has_a_port() {
    let config: Config = toml::from_str(&SAMPLE.replace("example:6443", "example")).unwrap();
    assert_eq!(config.cluster.server(), "https://api.onprem.example:443");
}

#[test]
fn a_header_field_is_named_as_http_names_it() {
    let config: Config = toml::from_str(&format!("caller_header = \"X-Forwarded-For\"\n{SAMPLE}")).unwrap();
    assert_eq!(config.caller_header.unwrap().as_str(), "x-forwarded-for");
    for wrong in ["", "x forwarded for", "x-forwarded-for:"] {
        let config = toml::from_str::<Config>(&format!("caller_header = \"{wrong}\"\n{SAMPLE}"));
        assert!(config.is_err(), "{wrong}");
    }
}

#[test_case("[times]", "[times]\ntombstones = 1"; "in a table")]
#[test_case("[cluster]", "debug = true\n[cluster]"; "at the top")]
#[test_case("[cluster]", "[cluster]\nlook = \"maybe\""; "a look that does not exist")]
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
#[test_case("[times]", "signature_version_1 = [\"arn:aws:sns:eu-central-1:123456789012:other\"]\n[times]",
    "sns.signature_version_1[0]"; "an old signature for a topic that is not listed")]
#[test_case("[\"arn:aws:sns:eu-central-1:123456789012:dynk8s\"]", "[]", "sns.topics"; "no topic")]
#[test_case("accounts = [\"123456789012\"]", "accounts = [\"12345\"]", "node_group[0].accounts[0]"; "a short account")]
#[test_case("accounts = [\"123456789012\"]", "accounts = []", "node_group[0].accounts"; "no account")]
#[test_case("regions = [\"eu-central-1\"]", "regions = [\"frankfurt\"]", "node_group[0].regions[0]"; "no region")]
#[test_case("\"example.com/burst\" = \"true\"", "\"example.com/burst\" = \"a b\"", "node_group[0].labels"; "a label's value")]
#[test_case("io/worker", "io/control-plane", "node_group[0].labels"; "a role of the control plane")]
#[test_case("key = \"example.com/burst\"", "key = \"a/b/c\"", "node_group[0].taints[0]"; "a taint's key")]
#[test_case("tombstone_seconds = 86400", "tombstone_seconds = 3900", "times.tombstone_seconds"; "forgets too soon")]
#[test_case("key_cooldown_seconds = 240", "key_cooldown_seconds = 86400", "times.key_cooldown_seconds"; "cools too long")]
#[test_case("token_seconds = 720", "token_seconds = 1", "times.token_seconds"; "a token that dies at once")]
#[test_case("token_seconds = 720", "token_seconds = 901", "times.token_seconds"; "a token that the policy refuses")]
#[test_case("name = \"burst\"", "name = \"\"", "node_group[0].name"; "no name")]
#[test_case("regions = [\"eu-central-1\"]", "regions = [\"eu-nowhere-1\"]", "node_group[0].regions[0]"; "a region whose documents nobody can verify")]
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

#[test_case("purpose\" = \"build\"", "purpose\" = \"bu ild\"", "labels"; "a space, which would begin another flag of the kubelet")]
#[test_case("purpose\" = \"build\"", "purpose\" = \"a,b=c\"", "labels"; "another label in a value")]
#[test_case("io/builder\" = \"\"", "io/builder\" = \"$(id)\"", "labels"; "a command")]
#[test_case("node-role.kubernetes.io/builder", "node-role.kubernetes.io/master", "labels"; "the old role of a control plane")]
#[test_case("node-role.kubernetes.io/builder", "kubernetes.io/hostname", "labels"; "what the kubelet sets")]
#[test_case("\"example.com/build\"", "\"startup-taint.cluster-autoscaler.kubernetes.io/dynk8s\"", "taints[0]"; "our own taint")]
#[test_case("\"example.com/build\"", "\"node.kubernetes.io/not-ready\"", "taints[0]"; "a taint that Kubernetes lifts")]
#[test_case("\"example.com/build\"", "\"node.cloudprovider.kubernetes.io/uninitialized\"", "taints[0]"; "a taint that nobody lifts")]
#[test_case("\"example.com/build\"", "\"example.com/build\"\nvalue = 'a b'", "taints[0]"; "a taint's value")]
#[test_case("cpu = \"4\"", "cpu = \"four\"", "resources"; "a quantity")]
#[test_case("\"ephemeral-storage\" =", "\"a/b/c\" =", "resources"; "a resource's name")]
#[test_case("maxPods = 40", "maxPods = 0", "kubelet.maxPods"; "a value that the kubelet refuses")]
#[test_case("[\"builders\"]", "[\"\"]", "auto_scaling_groups[0]"; "an Auto Scaling group without a name")]
#[test_case("[\"example.com/\", \"team\"]", "[\"example.com/\", \"/\"]", "from_tags[1]"; "any tag at all")]
#[test_case("[\"example.com/\", \"team\"]", "[\"\", \"team\"]", "from_tags[0]"; "a tag without a name")]
fn finds_the_fault_of_a_group(right: &str, wrong: &str, place: &str) {
    assert!(GROUPS.contains(right));
    let faults = faults(&GROUPS.replacen(right, wrong, 1));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with(&format!("`node_group[0].{place}`: ")),
        "{faults:?}"
    );
}

#[test]
fn a_rule_that_only_ec2_can_verify_needs_credentials() {
    let faults = faults(&GROUPS.replace("[aws]", ""));
    let places: Vec<&str> = faults.iter().filter_map(|it| it.split('`').nth(1)).collect();
    let expected = [
        "node_group[0].auto_scaling_groups",
        "node_group[0].from_tags",
        "node_group[1].tags",
    ];
    assert_eq!(places, expected);
}

#[test_case("token = \"running\"", "token = \"never\""; "a token mode")]
#[test_case("keys = \"example.com/pool=builders\"", "keys = \"pool in (a)\""; "a selector")]
#[test_case("maxPods = 40", "rotateCertificates = true"; "a field of the kubelet")]
#[test_case("[aws]", "[aws]\naccess_key = 'AKIA'"; "a credential, which belongs elsewhere")]
#[test_case("[aws]", "[aws]\nresync_seconds = 'often'"; "a time")]
fn refuses_what_a_group_does_not_know(right: &str, wrong: &str) {
    assert!(GROUPS.contains(right));
    assert!(toml::from_str::<Config>(&GROUPS.replace(right, wrong)).is_err());
}

#[test]
fn ec2_is_asked_neither_all_the_time_nor_hardly_ever() {
    for seconds in ["1", "86400"] {
        let faults = faults(&GROUPS.replace("[aws]", &format!("[aws]\nresync_seconds = {seconds}")));
        assert_eq!(faults, ["`aws.resync_seconds`: must be between 60 and 3600"]);
    }
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

#[test]
fn a_topic_signs_with_version_1_only_where_the_configuration_says_so() {
    const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:dynk8s";
    let old = format!("signature_version_1 = [\"{TOPIC}\"]\n[times]");
    for (text, expected) in [(SAMPLE.to_owned(), false), (SAMPLE.replace("[times]", &old), true)] {
        assert_eq!(faults(&text), Vec::<String>::new());
        let topics = toml::from_str::<Config>(&text).unwrap().sns.listed();
        assert_eq!((topics[0].arn.as_str(), topics[0].signs_with_sha1), (TOPIC, expected));
    }
}

#[test]
fn a_tombstone_may_last_a_little_longer_than_a_message_is_believed() {
    let text = SAMPLE.replace("tombstone_seconds = 86400", "tombstone_seconds = 3901");
    assert_eq!(faults(&text), Vec::<String>::new());
}

#[test]
fn a_folder_of_certificates_is_read_with_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("provisioner.toml");
    let certificates = folder.path().join("certificates");
    let keys = format!("[proof]\ncertificates = \"{}\"\n[times]", certificates.display());
    std::fs::write(
        &file,
        SAMPLE.replace("[times]", &keys).replace("eu-central-1", "eu-nowhere-1"),
    )
    .unwrap();
    let faults = format!("{:#}", Config::read(&file).unwrap_err());
    assert!(
        faults.contains("`proof.certificates`: ") && faults.contains("`node_group[0].regions[0]`: "),
        "{faults}"
    );
    std::fs::create_dir(&certificates).unwrap();
    let pem = include_str!("../../api/testdata/identity-document.pem");
    std::fs::write(certificates.join("eu-nowhere-1.pem"), pem).unwrap();
    assert_eq!(Config::read(&file).unwrap().proof.signers("eu-nowhere-1").len(), 1);
}
