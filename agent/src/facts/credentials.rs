//! The credentials of a role: the instance identity role, or the one of the instance's profile.

use dynk8s_api::Secret;
use serde::Deserialize;

use super::imds::Error;

/// Temporary credentials that say which instance this is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Credentials {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: Secret,
    pub(crate) token: Secret,
}

impl Credentials {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Error> {
        // The fault is told without its text: an error of serde may quote a secret.
        let parsed: Option<Self> = serde_json::from_str(text).ok();
        parsed
            .filter(|it| !it.access_key_id.is_empty() && !it.token.expose().is_empty())
            .ok_or(Error::Malformed {
                path: path.to_owned(),
                fault: "expected AccessKeyId, SecretAccessKey and Token".to_owned(),
            })
    }
}

/// The path of a role's credentials, whose name the service has told.
pub(super) fn path_below(folder: &str, role: &str) -> Result<String, Error> {
    let role = role.trim_end();
    let named = |it: u8| it.is_ascii_alphanumeric() || b"_+=,.@-".contains(&it);
    if (1..=64).contains(&role.len()) && role.bytes().all(named) {
        Ok(format!("{folder}{role}"))
    } else {
        Err(Error::Malformed {
            path: folder.to_owned(),
            fault: "expected the name of one role".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Credentials, path_below};

    #[test_case("node\n", Some("/roles/node"); "one role")]
    #[test_case("", None; "none")]
    #[test_case("a/../b", None; "a path")]
    #[test_case("one\ntwo", None; "two roles")]
    fn a_role_has_its_credentials_below_its_name(role: &str, path: Option<&str>) {
        assert_eq!(path_below("/roles/", role).ok().as_deref(), path);
    }

    #[test]
    fn reads_and_hides_them() {
        let text = r#"{"Code":"Success","AccessKeyId":"ASIA","SecretAccessKey":"hush","Token":"quiet","Expiration":"2026-12-01T00:00:00Z"}"#;
        let credentials = Credentials::parse("/credentials", text).unwrap();
        assert_eq!(credentials.secret_access_key.expose(), "hush");
        let printed = format!("{credentials:?}");
        assert!(!printed.contains("hush") && !printed.contains("quiet"), "{printed}");
    }

    #[test_case(""; "nothing")]
    #[test_case(r#"{"Code":"AssumeRoleUnauthorizedAccess"}"#; "an error")]
    #[test_case(r#"{"AccessKeyId":"ASIA","SecretAccessKey":"hush"}"#; "no token")]
    #[test_case(r#"{"AccessKeyId":"","SecretAccessKey":"hush","Token":"quiet"}"#; "an empty id")]
    #[test_case(r#"{"AccessKeyId":{},"SecretAccessKey":"hush","Token":"quiet"}"#; "another type")]
    fn refuses_anything_else_without_quoting_it(text: &str) {
        let error = Credentials::parse("/credentials", text).unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }
}
