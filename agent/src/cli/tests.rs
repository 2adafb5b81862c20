//! The command line's own consistency.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use test_case::test_case;

use super::{Arguments, MISCONFIGURED};

#[test]
fn is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn asks_for_a_command_and_takes_the_file_anywhere() {
    assert!(Arguments::try_parse_from(["dynk8s-agent"]).is_err());
    let arguments = Arguments::try_parse_from(["dynk8s-agent", "config", "check", "--config", "/x"]).unwrap();
    assert_eq!(arguments.config.to_str(), Some("/x"));
}

#[test_case("90s", true)]
#[test_case("1h 30m", true; "two units")]
#[test_case("0s", false)]
#[test_case("-1m", false)]
#[test_case("soon", false)]
fn waits_for_a_length_of_time(text: &str, right: bool) {
    let arguments = ["dynk8s-agent", "bootstrap", "--timeout", text];
    let arguments = if text.starts_with('-') {
        vec!["dynk8s-agent", "bootstrap", "--timeout=-1m"]
    } else {
        arguments.to_vec()
    };
    assert_eq!(Arguments::try_parse_from(arguments).is_ok(), right);
}

#[test]
fn every_command_says_what_it_does() {
    for command in Arguments::command().get_subcommands() {
        assert!(command.get_about().is_some(), "{}", command.get_name());
    }
}

/// The unit is not started again after this code.
#[test_case(&["run"])]
#[test_case(&["bootstrap"])]
#[test_case(&["plan"])]
#[test_case(&["config", "check"])]
#[test_case(&["config", "show"])]
fn a_wrong_configuration_has_a_code_of_its_own(verb: &[&str]) {
    let words = [&["dynk8s-agent", "--config", "/nonexistent"], verb].concat();
    let code = Arguments::try_parse_from(words).unwrap().execute();
    assert_eq!(code, ExitCode::from(MISCONFIGURED));
}
