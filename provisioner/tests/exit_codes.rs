//! The real program: a configuration that is wrong is told apart from work that failed.

use std::io::Result;
use std::process::{Command, Output};

use tempfile::NamedTempFile;
use test_case::test_case;

const SAMPLE: &str = include_str!("../testdata/provisioner.toml");

fn run(arguments: &[&str], configuration: &str) -> Result<Output> {
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), configuration)?;
    Command::new(env!("CARGO_BIN_EXE_dynk8s-provisioner"))
        .args(arguments)
        .arg("--config")
        .arg(file.path())
        .env("KUBECONFIG", "/nonexistent")
        .output()
}

#[test_case(&["serve"])]
#[test_case(&["reconcile"])]
#[test_case(&["run"])]
#[test_case(&["config", "check"])]
fn a_wrong_configuration_ends_with_2_and_says_what_is_wrong(arguments: &[&str]) -> Result<()> {
    let faults = [
        ("[times]", "[times]\ntombstones = 1", "tombstones"),
        ("[\"123456789012\"]", "[\"12345\"]", "node_group[0].accounts[0]"),
    ];
    for (right, wrong, told) in faults {
        let output = run(arguments, &SAMPLE.replacen(right, wrong, 1))?;
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(told), "{text}");
    }
    Ok(())
}

#[test]
fn a_right_configuration_ends_well() -> Result<()> {
    assert_eq!(run(&["config", "check"], SAMPLE)?.status.code(), Some(0));
    Ok(())
}
