//! The name of an EC2 instance, which is also the name of its Worker and of its Node.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An EC2 instance id: `i-` and 8 or 17 lowercase hexadecimal digits (EC2 user guide, "Resource IDs").
///
/// Being of this form it is also a DNS label, so it can name Kubernetes objects and stand in a path as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceId(String);

/// What was given is no instance id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no instance id (`i-` and 8 or 17 hexadecimal digits)")]
pub struct InvalidInstanceId(String);

impl InstanceId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceId {
    type Err = InvalidInstanceId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = text.strip_prefix("i-").is_some_and(|digits| {
            matches!(digits.len(), 8 | 17) && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        });
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidInstanceId(
                text.chars().take(40).flat_map(char::escape_default).collect(),
            ))
        }
    }
}

impl TryFrom<String> for InstanceId {
    type Error = InvalidInstanceId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<InstanceId> for String {
    fn from(id: InstanceId) -> Self {
        id.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::InstanceId;

    #[test_case("i-0123456789abcdef0", true; "seventeen digits")]
    #[test_case("i-0123abcd", true; "eight digits")]
    #[test_case("", false; "empty")]
    #[test_case("i-", false; "no digits")]
    #[test_case("i-0123456789abcdef", false; "sixteen digits")]
    #[test_case("i-0123456789ABCDEF0", false; "upper case")]
    #[test_case("m-0123456789abcdef0", false; "a managed node's id")]
    #[test_case("i-0123456789abcdef0\n", false; "trailing newline")]
    #[test_case("i-0123456789abcdef0/../x", false; "a path")]
    fn parses(text: &str, valid: bool) {
        assert_eq!(text.parse::<InstanceId>().is_ok(), valid);
    }

    #[test]
    fn quotes_hostile_text_shortened_and_escaped() {
        let error = format!("\u{1b}[2J{}", "x".repeat(10_000))
            .parse::<InstanceId>()
            .unwrap_err();
        let text = error.to_string();
        assert!(text.len() < 150 && !text.contains('\u{1b}'), "{text}");
    }
}
