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

#[test_case("users: [{name: me, user: {token: [hush-hush]}}]", "line 1, column "; "a value of another kind")]
#[test_case("users:\n- name: me\n  user:\n    token: \"hush-hush\n", "line "; "a text without an end")]
#[test_case("hush-hush", "line 1, column 1"; "nothing but a token")]
#[test_case(&context("token: hush-hush", "\u{1}hush-hush"), "line "; "what is no text")]
#[test_case(&context("client-key-data: '@hush-hush@'", ""), "`client-key-data` is no base64"; "a key that is no base64")]
#[test_case(&context("{client-key-data: aHVzaC1odXNo, client-certificate-data: aHVzaC1odXNo}", ""), "set up the connection"; "a key that is no key")]
#[test_case(&context("token: \"hush-hush\\n\\u0001\"", ""), "token cannot be sent"; "a token that no header can hold")]
#[test_case(&context("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, 'echo hush-hush; exit 3']}", ""), "credential plugin failed"; "a plugin that fails")]
#[test_case(&context("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: echo, args: [hush-hush]}", ""), "credential plugin printed"; "a plugin that prints something else")]
fn a_broken_kubeconfig_is_named_and_not_quoted(kubeconfig: &str, told: &str) -> Result<()> {
    let (file, configuration) = (NamedTempFile::new()?, NamedTempFile::new()?);
    std::fs::write(file.path(), kubeconfig)?;
    std::fs::write(configuration.path(), SAMPLE)?;
    let configuration = configuration.path().display().to_string();
    for arguments in [
        &["keys", "list"][..],
        &["key"],
        &["reconcile", "--config", &configuration],
        &["check"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dynk8s-provisioner"))
            .args(arguments)
            .env("KUBECONFIG", file.path())
            .env("RUST_LOG", "trace")
            .output()?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(
            !output.status.success() && !text.contains("hush"),
            "{arguments:?}: {text}"
        );
        assert!(text.contains(told), "{arguments:?}: {text}");
        if told.contains("line") || told.contains("base64") {
            assert!(
                text.contains(&file.path().display().to_string()),
                "{arguments:?}: {text}"
            );
        }
    }
    Ok(())
}

/// A kubeconfig that is right but for its user, and has something at its end.
fn context(user: &str, end: &str) -> String {
    let user = if user.starts_with('{') {
        user.to_owned()
    } else {
        format!("{{{user}}}")
    };
    format!(
        "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\n\
         clusters: [{{name: it, cluster: {{server: 'https://127.0.0.1:1'}}}}]\nusers: [{{name: me, user: {user}}}]\n{end}"
    )
}

#[test]
fn who_reads_no_further_is_no_failure() -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_dynk8s-provisioner"))
        .arg("crd")
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    Ok(())
}
