//! The notice that AWS takes a spot instance back.

use jiff::Timestamp;
use serde::Deserialize;

use super::imds::Error;

/// What becomes of the instance, and when.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Interruption {
    /// `terminate`, `stop` or `hibernate`.
    pub(crate) action: Action,
    pub(crate) time: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Terminate,
    Stop,
    Hibernate,
}

impl Interruption {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::Malformed {
            path: "spot/instance-action".to_owned(),
            fault: error.to_string(),
        })
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Terminate => "terminate",
            Self::Stop => "stop",
            Self::Hibernate => "hibernate",
        })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Action, Interruption};

    #[test]
    fn reads_a_notice() {
        let notice = Interruption::parse(r#"{"action": "terminate", "time": "2026-12-02T08:22:00Z"}"#).unwrap();
        assert_eq!(notice.action, Action::Terminate);
        assert_eq!(notice.time, "2026-12-02T08:22:00Z".parse().unwrap());
    }

    #[test_case(""; "nothing")]
    #[test_case("<html>"; "something else")]
    #[test_case(r#"{"action": "explode", "time": "2026-12-02T08:22:00Z"}"#; "an unknown action")]
    #[test_case(r#"{"action": "terminate", "time": "soon"}"#; "no time")]
    #[test_case(r#"{"action": "terminate"}"#; "no time at all")]
    fn refuses_what_aws_does_not_document(text: &str) {
        let error = Interruption::parse(text).unwrap_err().to_string();
        assert!(error.contains("spot/instance-action"), "{error}");
    }
}
