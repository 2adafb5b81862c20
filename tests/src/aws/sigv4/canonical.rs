//! The one form of a request that is signed, whatever form it was sent in.

use axum::http::HeaderName;

use super::{Claim, Refusal, Request, hash};

impl Claim {
    pub(super) fn canonical_request(&self, request: &Request<'_>) -> Result<String, Refusal> {
        let headers = self.canonical_headers(request)?;
        let names = self.signed_headers.join(";");
        let query = canonical_query(request.uri.query().unwrap_or_default());
        // The path is signed as sent; the services emulated here have only "/".
        Ok(format!(
            "{}\n{}\n{query}\n{headers}\n{names}\n{}",
            request.method,
            request.uri.path(),
            hash(request.body)
        ))
    }

    fn canonical_headers(&self, request: &Request<'_>) -> Result<String, Refusal> {
        let sorted = self.signed_headers.is_sorted_by(|a, b| a < b);
        if !sorted
            || self
                .signed_headers
                .iter()
                .any(|name| name.bytes().any(|byte| byte.is_ascii_uppercase()))
        {
            return Err(Refusal::IncompleteSignature(
                "SignedHeaders must be lower-case, sorted and distinct".to_owned(),
            ));
        }
        let must_be_signed = |name: &str| name == "host" || name.starts_with("x-amz-");
        let present = request.headers.keys().map(HeaderName::as_str);
        if let Some(unsigned) = present
            .chain(["host"])
            .find(|name| must_be_signed(name) && !self.signed_headers.iter().any(|it| it == name))
        {
            return Err(Refusal::SignatureDoesNotMatch(format!(
                "'{unsigned}' must be a 'SignedHeader' in the AWS Authorization."
            )));
        }
        let mut lines = Vec::new();
        for name in &self.signed_headers {
            let values: Result<Vec<_>, _> = request
                .headers
                .get_all(name)
                .iter()
                .map(|value| value.to_str().map(fold_spaces))
                .collect();
            let values = values.map_err(|_| Refusal::IncompleteSignature(format!("header '{name}' is not text")))?;
            if values.is_empty() {
                return Err(Refusal::SignatureDoesNotMatch(format!(
                    "signed header '{name}' is not in the request"
                )));
            }
            lines.push(format!("{name}:{}\n", values.join(",")));
        }
        Ok(lines.concat())
    }
}

fn fold_spaces(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parameters sorted by name and value; they are signed escaped, as they were sent.
fn canonical_query(query: &str) -> String {
    let mut parameters: Vec<(&str, &str)> = query
        .split('&')
        .filter(|it| !it.is_empty())
        .map(|it| it.split_once('=').unwrap_or((it, "")))
        .collect();
    parameters.sort_unstable();
    parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join("&")
}
