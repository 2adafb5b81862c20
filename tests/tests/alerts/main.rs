//! The alerts that we ship: Prometheus understands them, they fire when they must, and what they speak of exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use dynk8s_lab::host::command::run;
use dynk8s_lab::programs::monitoring;
use serde_json::Value;

const RULE_TEST: &str = include_str!("rules.test.yaml");

fn read(path: &str) -> anyhow::Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// What Prometheus gets of the operator's object.
fn spec() -> anyhow::Result<Value> {
    let object: Value = serde_saphyr::from_str(&read("packaging/kubernetes/monitoring/alerts.yaml")?)?;
    Ok(object["spec"].clone())
}

fn rules() -> anyhow::Result<Vec<Value>> {
    let spec = spec()?;
    let groups = spec["groups"].as_array().into_iter().flatten();
    Ok(groups
        .filter_map(|it| it["rules"].as_array())
        .flatten()
        .cloned()
        .collect())
}

fn names() -> anyhow::Result<BTreeSet<String>> {
    let name = |rule: &Value| Some(rule["alert"].as_str()?.to_owned());
    let names: Option<_> = rules()?.iter().map(name).collect();
    names.context("a rule is no alert")
}

/// promtool with the rules, in a folder of their own.
async fn promtool(words: &[&str]) -> anyhow::Result<String> {
    let program: PathBuf = monitoring::promtool().await?;
    let folder = tempfile::tempdir()?;
    // JSON is YAML.
    std::fs::write(folder.path().join("rules.yaml"), spec()?.to_string())?;
    std::fs::write(folder.path().join("rules.test.yaml"), RULE_TEST)?;
    run(Command::new(program).args(words).current_dir(folder.path()))
}

#[tokio::test]
async fn prometheus_understands_them() {
    let said = promtool(&["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"])
        .await
        .unwrap();
    assert!(
        said.contains(&format!("{} rules found", rules().unwrap().len())),
        "{said}"
    );
}

#[tokio::test]
async fn they_fire_when_they_must_and_else_not() {
    let untested: Vec<_> = names()
        .unwrap()
        .into_iter()
        .filter(|it| !RULE_TEST.contains(it.as_str()))
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
    promtool(&["test", "rules", "rules.test.yaml"]).await.unwrap();
}

/// The words in quotes, such as those of `state=~"unlabelled|unusable"`.
fn values(expression: &str) -> impl Iterator<Item = &str> {
    expression.split('"').skip(1).step_by(2).flat_map(|it| it.split('|'))
}

fn metrics(expression: &str) -> impl Iterator<Item = &str> {
    expression
        .split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
        .filter(|it| it.starts_with("dynk8s_"))
}

#[test]
fn they_speak_of_what_there_is() {
    let documented = [
        "docs/metrics.md",
        "docs/protocol.md",
        "packaging/kubernetes/base/worker.crd.json",
    ]
    .map(|it| read(it).unwrap());
    let known = |word: &str| {
        let quoted = [format!("`{word}`"), format!("\"{word}\"")];
        documented.iter().any(|text| quoted.iter().any(|it| text.contains(it)))
    };
    for rule in rules().unwrap() {
        let expression = rule["expr"].as_str().unwrap();
        for metric in metrics(expression) {
            assert!(known(metric.trim_end_matches("_bucket")), "{metric} of {rule}");
        }
        for value in values(expression).filter(|it| *it != "dynk8s-provisioner") {
            assert!(known(value), "{value} of {rule}");
        }
    }
}

#[test]
fn each_has_a_line_in_the_runbook() {
    let operations = read("docs/operations.md").unwrap();
    let section = operations.split("\n## ").find(|it| it.starts_with("Alerts\n"));
    let section = section.context("there is no section `Alerts`").unwrap();
    let lines = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(lines.map(ToOwned::to_owned).collect::<BTreeSet<_>>(), names().unwrap());
}
