//! What the API server, or the way to it, says went wrong: in one line, once, and without what an answer or a credential holds.
//! The libraries' own texts quote what could not be read, and repeat their sources.

use std::error::Error;

use anyhow::Chain;
use kube::client::AuthError;
use kube::config::{KubeconfigError, LoadDataError};

use crate::telemetry::one_line;

/// A call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", told(.0))]
pub struct Fault(pub kube::Error);

impl From<kube::Error> for Fault {
    fn from(error: kube::Error) -> Self {
        Self(error)
    }
}

/// The error and what is below it.
pub(crate) fn told(error: &(dyn Error + 'static)) -> String {
    let chain = Chain::new(error);
    if let Some(words) = chain.clone().find_map(own_words) {
        return one_line(&words);
    }
    let texts: Vec<String> = chain.map(ToString::to_string).collect();
    let mut line = String::new();
    for (index, text) in texts.iter().enumerate() {
        let source = texts.get(index + 1).map_or("", String::as_str);
        let alone = text.strip_suffix(source).unwrap_or(text).trim_end_matches([':', ' ']);
        if !alone.is_empty() && !line.is_empty() {
            line += ": ";
        }
        line += alone;
    }
    one_line(&line)
}

/// Our own words for what must not be quoted, and the API server's without the object around them.
fn own_words(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref() {
        return of_call(error);
    }
    if let Some(error) = error.downcast_ref() {
        return Some(of_credentials(error));
    }
    error.downcast_ref().map(of_kubeconfig)
}

fn of_call(error: &kube::Error) -> Option<String> {
    match error {
        kube::Error::Api(status) if status.message.trim().is_empty() => {
            Some(format!("the API server answered {} {}", status.code, status.reason))
        }
        kube::Error::Api(status) => Some(status.message.clone()),
        kube::Error::SerdeError(error) => Some(format!(
            "the answer cannot be understood (line {}, column {})",
            error.line(),
            error.column()
        )),
        _ => None,
    }
}

fn of_credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => format!("the kubeconfig's credential plugin failed with {}", out.status),
        AuthError::AuthExecParse(_) => {
            "what the kubeconfig's credential plugin printed cannot be understood".to_owned()
        }
        AuthError::ParseTokenKey(_) => "the credential's expiry or token cannot be found in its file".to_owned(),
        other => other.to_string(),
    }
}

fn of_kubeconfig(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(it) => format!("line {}, column {} cannot be understood", it.line(), it.column()),
            None => "it cannot be understood".to_owned(),
        },
        KubeconfigError::LoadContext(name) => format!("the context `{name}` is not in it"),
        KubeconfigError::LoadCertificateAuthority(error) => of_data("certificate-authority-data", error),
        KubeconfigError::LoadClientCertificate(error) => of_data("client-certificate-data", error),
        KubeconfigError::LoadClientKey(error) => of_data("client-key-data", error),
        KubeconfigError::ParseCertificates(_) => "its certificates are no PEM".to_owned(),
        other => other.to_string(),
    }
}

fn of_data(field: &str, error: &LoadDataError) -> String {
    match error {
        LoadDataError::DecodeBase64(_) => format!("`{field}` is no base64"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use test_case::test_case;

    use super::{Fault, told};

    const BROKEN: &str = "users: [{name: me, user: {token: [hush]}}]";

    fn api(message: &str) -> kube::Error {
        let status = Status::failure(message, "Forbidden").with_code(403);
        kube::Error::Api(status.boxed())
    }

    #[test_case("one", "one"; "as it is")]
    #[test_case("one:\n\ttwo\r\n  three\u{1b}[2J", "one: two three [2J"; "several lines and a terminal's commands")]
    #[test_case("", "the API server answered 403 Forbidden"; "no message")]
    fn the_api_servers_words_are_told_once_and_in_one_line(message: &str, expected: &str) {
        assert_eq!(told(&api(message)), expected);
        let wrapped = anyhow::Error::new(Fault(api(message))).context("failed to try");
        assert_eq!(format!("{wrapped:#}"), format!("failed to try: {expected}"));
    }

    #[test]
    fn the_words_are_found_below_other_errors_too() {
        let below = kube::runtime::watcher::Error::WatchFailed(api("no\nway"));
        assert_eq!(told(&below), "no way");
    }

    #[test]
    fn what_a_source_says_is_not_said_twice() {
        let refused = std::io::Error::other("connection refused");
        let error = kube::Error::Service(Box::new(refused));
        assert_eq!(told(&error), "ServiceError: connection refused");
    }

    #[test]
    fn an_answer_is_not_quoted() {
        let error = serde_json::from_str::<u8>("\"hush\"").unwrap_err();
        assert!(error.to_string().contains("hush"), "{error}");
        let text = told(&kube::Error::SerdeError(error));
        assert_eq!(text, "the answer cannot be understood (line 1, column 6)");
    }

    #[test]
    fn a_kubeconfig_is_not_quoted() {
        let error = kube::config::Kubeconfig::from_yaml(BROKEN).unwrap_err();
        assert!(error.to_string().contains("hush"), "{error}");
        let text = told(&error);
        assert!(text.starts_with("line 1, column ") && !text.contains("hush"), "{text}");
    }
}
