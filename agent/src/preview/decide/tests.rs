//! Whole plans against golden files, and what is told of machines that are not as they should be.

use std::net::IpAddr;

use anyhow::anyhow;
use test_case::test_case;

use super::{Before, Host, Journey, Resolvers, Start, Way, claim, facts, join, names, ready, tunnel};
use crate::config::Settings;
use crate::facts::Facts;
use crate::join::preflight::decide::{Finding, Mend};
use crate::preview::outline::{Kind, Outline, Step};
use crate::preview::render::render;

const CONFIGURATION: &str = "
    provisioner = \"https://dynk8s.onprem.example\"
    provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"
    [guard]
    drain = true
";

const STATE: &str = "/var/lib/dynk8s/i-0123456789abcdef0";

fn settings() -> Settings {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    std::fs::write(&path, CONFIGURATION).unwrap();
    let mut settings = Settings::load(&path).unwrap();
    settings.ca_file = Some("/etc/dynk8s/ca.pem".into());
    settings
}

fn spot() -> Facts {
    Facts {
        id: "i-0123456789abcdef0".parse().unwrap(),
        instance_type: "m7g.large".to_owned(),
        zone: "eu-central-1a".to_owned(),
        region: "eu-central-1".to_owned(),
        account: "123456789012".to_owned(),
        address: Some("172.31.0.10".parse().unwrap()),
        mac: None,
        lifecycle: Some("spot".to_owned()),
        vpc: vec!["172.31.0.0/16".parse().unwrap()],
        signed: Some("MIAG".to_owned().into()),
    }
}

/// What a machine shows on which nothing is wrong; a test changes it.
struct Machine {
    settings: Settings,
    facts: anyhow::Result<Facts>,
    before: Before,
    root: bool,
    unit: Option<&'static str>,
    addresses: anyhow::Result<Vec<IpAddr>>,
    left_overs: bool,
    link: anyhow::Result<String>,
    tunnel: Option<anyhow::Result<Vec<String>>>,
    way: anyhow::Result<Vec<String>>,
    dns: Option<Vec<IpAddr>>,
    kubeadm: anyhow::Result<(String, &'static str)>,
    runtime: anyhow::Result<String>,
    findings: Option<anyhow::Result<Vec<Finding>>>,
    skew: Option<&'static str>,
}

fn machine() -> Machine {
    Machine {
        settings: settings(),
        facts: Ok(spot()),
        before: Before::New,
        root: true,
        unit: Some("inactive"),
        addresses: Ok(vec!["198.51.100.20".parse().unwrap()]),
        left_overs: false,
        link: Ok("`ens5` has the default route".to_owned()),
        tunnel: None,
        way: Ok(vec![
            "takes the host's names for what they are: nobody manages them".to_owned(),
        ]),
        dns: None,
        kubeadm: Ok(("v1.37.2".to_owned(), "kubeadm.k8s.io/v1beta4")),
        runtime: Ok("unix:///run/containerd/containerd.sock".to_owned()),
        findings: Some(Ok(vec![Finding::Mendable(Mend::SwapOff(vec![
            "/dev/zram0".to_owned(),
        ]))])),
        skew: None,
    }
}

impl Machine {
    fn outline(self) -> Outline {
        let journey = Journey {
            settings: &self.settings,
            before: self.before,
            facts: self.facts.as_ref().ok(),
            state: STATE,
        };
        let start = Start {
            root: self.root,
            unit: self.unit,
            has_keys: self.before != Before::New,
            error: self.facts.as_ref().err(),
        };
        let way = Way {
            addresses: &self.addresses,
            resolvers: &Ok(vec!["172.31.0.2".parse().unwrap()]),
            proxy: None,
            left_overs: self.left_overs,
        };
        let host = Host {
            kubeadm: &self.kubeadm,
            runtime: &self.runtime,
            findings: self.findings.as_ref(),
            kubelet_enabled: Some(false),
            skew: self.skew,
            material: &crate::join::material_files(),
            key: crate::join::KEY_PLACE,
        };
        Outline {
            steps: vec![
                facts(journey, &start),
                claim(journey, &way),
                tunnel(journey, self.link.as_ref().map(Clone::clone), self.tunnel),
                names(
                    journey,
                    Resolvers {
                        way: self.way,
                        servers: self.dns.as_deref(),
                        are_alone: self.dns.is_some(),
                    },
                ),
                join(journey, &host),
                ready(journey),
            ],
        }
    }
}

fn joined() -> Machine {
    Machine {
        before: Before::Joined,
        tunnel: Some(Ok(vec!["makes the interface `dynk8s`".to_owned()])),
        dns: Some(vec!["192.168.10.1".parse().unwrap()]),
        ..machine()
    }
}

#[test_case(machine(), include_str!("../../../testdata/preview/new.txt"); "a machine that just booted")]
#[test_case(joined(), include_str!("../../../testdata/preview/joined.txt"); "a node")]
fn tells_the_whole_journey(machine: Machine, expected: &str) {
    assert_eq!(render(&machine.outline()), expected);
}

#[test]
fn tells_programs_the_same() {
    let outline = machine().outline();
    let json = serde_json::to_value(&outline).unwrap();
    assert_eq!(json["steps"][1]["name"], "claim");
    assert_eq!(json["steps"][1]["within_seconds"], 600);
    let lines = json["steps"][4]["lines"].as_array().unwrap();
    let line = lines.iter().find(|it| it["kind"] == "does").unwrap();
    assert!(line["text"].as_str().unwrap().contains("/dev/zram0"), "{line}");
}

fn lines(steps: &[Step], kind: Kind) -> Vec<&str> {
    let lines = steps.iter().flat_map(|it| &it.lines);
    lines.filter(|it| it.kind == kind).map(|it| it.text.as_str()).collect()
}

#[test_case(|it| it.facts = Err(anyhow!("no metadata")), "no metadata"; "no instance")]
#[test_case(|it| it.link = Err(anyhow!("there is no default route")), "no default route"; "no network")]
#[test_case(|it| it.tunnel = Some(Err(anyhow!("`AllowedIPs` takes the VPC"))), "takes the VPC"; "a document that does not fit")]
#[test_case(|it| it.way = Err(anyhow!("two managers")), "two managers"; "names that nobody known manages")]
#[test_case(|it| it.kubeadm = Err(anyhow!("no kubeadm")), "no kubeadm"; "no kubeadm")]
#[test_case(|it| it.skew = Some("the kubelet is newer"), "is newer"; "a kubelet that is too new")]
#[test_case(|it| it.findings = Some(Ok(vec![Finding::Fatal("the port is taken".to_owned())])), "port is taken"; "a port in use")]
#[test_case(|it| it.findings = Some(Err(anyhow!("cannot look"))), "cannot look"; "a host that cannot be looked at")]
fn says_what_the_journey_would_end_at(damage: impl Fn(&mut Machine), expected: &str) {
    assert!(machine().outline().arrives());
    let mut machine = machine();
    damage(&mut machine);
    let outline = machine.outline();
    let ends = lines(&outline.steps, Kind::Ends);
    assert!(matches!(ends[..], [one] if one.contains(expected)), "{ends:?}");
    assert!(!outline.arrives() && render(&outline).contains(&format!("✗ {}", ends[0])));
}

#[test_case(|_| {}, None; "nothing")]
#[test_case(|it| it.root = false, Some("not root"); "not root")]
#[test_case(|it| it.unit = Some("active"), Some("the unit is active"); "a unit that runs")]
#[test_case(|it| it.facts.as_mut().unwrap().signed = None, Some("no signed"); "no signed document")]
#[test_case(|it| it.addresses = Err(anyhow!("no such name")), Some("no such name"); "a name that does not resolve yet")]
#[test_case(|it| it.runtime = Err(anyhow!("no runtime")), Some("no runtime"); "a runtime that is not up yet")]
#[test_case(|it| it.findings = Some(Ok(vec![Finding::Doubtful("two runtimes".to_owned())])), Some("two runtimes"); "two runtimes")]
fn says_what_should_be_looked_at(damage: impl Fn(&mut Machine), expected: Option<&str>) {
    let mut machine = machine();
    damage(&mut machine);
    let outline = machine.outline();
    let doubts = lines(&outline.steps, Kind::Doubtful);
    assert_eq!(doubts.len(), usize::from(expected.is_some()), "{doubts:?}");
    assert!(
        doubts.iter().zip(expected).all(|(it, expected)| it.contains(expected)),
        "{doubts:?}"
    );
    assert!(outline.arrives());
}

/// Nobody here can know it, so nothing may be made up.
#[test]
fn says_what_only_the_claim_tells() {
    let outline = machine().outline();
    let later = lines(&outline.steps, Kind::Later).join("\n");
    for what in [
        "WireGuard configuration",
        "token",
        "labels",
        "peers",
        "which resolvers",
        "whether the versions fit",
    ] {
        assert!(later.contains(what), "no `{what}` in:\n{later}");
    }
    assert_eq!(lines(&joined().outline().steps, Kind::Later), [""; 0]);
    let claimed = Machine {
        before: Before::Claimed,
        ..joined()
    };
    let later = claimed.outline();
    assert!(
        lines(&later.steps, Kind::Later)
            .iter()
            .any(|it| it.contains("made of the last one"))
    );
}

#[test]
fn takes_back_what_an_earlier_join_left() {
    let outline = Machine {
        left_overs: true,
        ..machine()
    }
    .outline();
    assert!(
        lines(&outline.steps, Kind::Does)
            .iter()
            .any(|it| it.contains("kubeadm reset"))
    );
}

#[test]
fn leaves_to_kubeadm_what_is_another_hosts_where_there_is_no_systemd() {
    let outline = Machine {
        findings: None,
        unit: None,
        runtime: Err(anyhow!("none")),
        ..machine()
    }
    .outline();
    assert!(outline.arrives() && lines(&outline.steps, Kind::Doubtful).is_empty());
}
