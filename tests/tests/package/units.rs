//! systemd reads the units as they are meant, and finds the agent's no more exposed than it was.

use std::fs;
use std::path::Path;

use dynk8s_lab::host::command::run;

use crate::{debian, packaging};

const UNIT: &str = "systemd/dynk8s-agent.service";
const DROP_IN: &str = "systemd/kubelet.service.d/10-dynk8s.conf";

/// What `systemd-analyze security` says, in tenths. The unit explains each door that is open.
const EXPOSURE: u32 = 51;

/// A kubelet's unit as packages have it.
const KUBELET: &str = "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/true\n";

/// Runs systemd-analyze where the units are installed.
fn analyze(words: &[&str]) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let kubelet = folder.path().join("kubelet.service");
    fs::write(&kubelet, KUBELET)?;
    let (unit, drop_in) = (packaging(UNIT), packaging(DROP_IN));
    let shown: [(&Path, &str); 4] = [
        (&unit, "/usr/lib/systemd/system/dynk8s-agent.service"),
        (&drop_in, "/usr/lib/systemd/system/kubelet.service.d/10-dynk8s.conf"),
        (&kubelet, "/usr/lib/systemd/system/kubelet.service"),
        (Path::new("/bin/true"), "/usr/bin/dynk8s-agent"),
    ];
    run(&mut debian()?.command(&shown, &[&["systemd-analyze", "--no-pager"], words].concat()))
}

/// The values of a key in a unit, over all its lines.
fn values(unit: &str, key: &str) -> Vec<String> {
    let text = fs::read_to_string(packaging(unit)).unwrap_or_default();
    let lines = text.lines().filter_map(|it| it.strip_prefix(key)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).map(ToOwned::to_owned).collect()
}

#[test]
fn systemd_understands_the_units() {
    let said = analyze(&[
        "verify",
        "--recursive-errors=no",
        "dynk8s-agent.service",
        "kubelet.service",
    ])
    .unwrap();
    assert_eq!(said, "");
}

#[test]
fn the_agent_is_no_more_exposed_than_recorded() {
    let words = [
        "security",
        "--offline=true",
        "--threshold",
        &EXPOSURE.to_string(),
        "dynk8s-agent.service",
    ];
    let said = analyze(&words).unwrap();
    let (whole, tenth) = (EXPOSURE / 10, EXPOSURE % 10);
    assert!(
        said.contains(&format!(
            "Overall exposure level for dynk8s-agent.service: {whole}.{tenth} "
        )),
        "it has become better, record it:\n{said}"
    );
}

#[test]
fn nothing_waits_for_what_a_node_may_not_have() {
    let order = values(UNIT, "After");
    for slow in [
        "network-online.target",
        "cloud-final.service",
        "cloud-init.target",
        "time-sync.target",
    ] {
        assert!(!order.iter().any(|it| it == slow), "{slow}");
    }
    assert!(order.iter().any(|it| it == "network.target"));
    for key in ["Wants", "Requires", "BindsTo", "Requisite"] {
        assert_eq!(values(UNIT, key), [""; 0], "{key}");
    }
}

#[test]
fn it_starts_again_with_growing_pauses_but_not_for_a_wrong_configuration() {
    for (key, value) in [
        ("Type", "notify"),
        ("Restart", "on-failure"),
        ("RestartPreventExitStatus", "2"),
        ("StartLimitIntervalSec", "0"),
        ("StandardOutput", "journal"),
        ("StandardError", "journal+console"),
    ] {
        assert_eq!(values(UNIT, key), [value], "{key}");
    }
    for key in ["RestartSteps", "RestartMaxDelaySec", "TimeoutStartSec", "WatchdogSec"] {
        assert_eq!(values(UNIT, key).len(), 1, "{key}");
    }
}

#[test]
fn the_kubelet_comes_after_the_agent_and_does_not_fall_with_it() {
    for key in ["After", "Wants"] {
        assert_eq!(values(DROP_IN, key), ["dynk8s-agent.service"], "{key}");
    }
    for key in ["Requires", "BindsTo", "PartOf"] {
        assert_eq!(values(DROP_IN, key), [""; 0], "{key}");
    }
}
