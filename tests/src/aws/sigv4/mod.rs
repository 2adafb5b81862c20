//! Verifies AWS Signature Version 4 from a request as it arrived, with nothing of the client's own arithmetic.

mod canonical;

use std::collections::BTreeMap;

use axum::http::{HeaderMap, Method, Uri};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ring::{digest, hmac};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TOLERANCE: SignedDuration = SignedDuration::from_mins(15);

/// A request as received.
#[derive(Debug)]
pub struct Request<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

/// What a request claims before its signature is checked.
#[derive(Debug)]
pub struct Claim {
    pub access_key_id: String,
    pub token: Option<String>,
    date: String,
    scope: Scope,
    signed_headers: Vec<String>,
    signature: String,
}

#[derive(Debug)]
struct Scope {
    date: String,
    region: String,
    service: String,
}

/// Why a request is refused; the names are those that AWS answers with.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    MissingAuthenticationToken,
    IncompleteSignature(String),
    SignatureDoesNotMatch(String),
}

impl Claim {
    pub fn read(request: &Request<'_>) -> Result<Self, Refusal> {
        let authorization = header(request, "authorization")?.ok_or(Refusal::MissingAuthenticationToken)?;
        let fields = authorization
            .strip_prefix(ALGORITHM)
            .ok_or_else(|| Refusal::IncompleteSignature(format!("Authorization header must begin with {ALGORITHM}")))?;
        let fields: BTreeMap<&str, &str> = fields
            .split(',')
            .filter_map(|field| field.trim().split_once('='))
            .collect();
        let field = |name: &str| {
            fields.get(name).copied().ok_or_else(|| {
                Refusal::IncompleteSignature(format!("Authorization header requires '{name}' parameter"))
            })
        };
        let (access_key_id, scope) = read_credential(field("Credential")?)?;
        let signed_headers = field("SignedHeaders")?.split(';').map(ToOwned::to_owned).collect();
        let signature = field("Signature")?.to_owned();
        let date = header(request, "x-amz-date")?.ok_or_else(|| {
            Refusal::IncompleteSignature("Authorization header requires existence of 'X-Amz-Date'".to_owned())
        })?;
        let token = header(request, "x-amz-security-token")?;
        Ok(Self {
            access_key_id,
            token,
            date,
            scope,
            signed_headers,
            signature,
        })
    }

    /// Checks time, scope and signature with the secret that belongs to the claimed access key.
    pub fn verify(
        &self,
        request: &Request<'_>,
        secret: &str,
        region: &str,
        service: &str,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.verify_time(now)?;
        self.verify_scope(region, service)?;
        let canonical = self.canonical_request(request)?;
        let Scope { date, region, service } = &self.scope;
        let text = format!(
            "{ALGORITHM}\n{}\n{date}/{region}/{service}/aws4_request\n{}",
            self.date,
            hash(canonical.as_bytes())
        );
        let key = [region.as_str(), service, "aws4_request"]
            .into_iter()
            .fold(sign(format!("AWS4{secret}").as_bytes(), date), |key, part| {
                sign(key.as_ref(), part)
            });
        let right = hexadecimal(sign(key.as_ref(), &text).as_ref());
        if right == self.signature {
            return Ok(());
        }
        Err(Refusal::SignatureDoesNotMatch(
            "The request signature we calculated does not match the signature you provided.".to_owned(),
        ))
    }

    fn verify_time(&self, now: Timestamp) -> Result<(), Refusal> {
        let date = DateTime::strptime("%Y%m%dT%H%M%SZ", &self.date).and_then(|date| date.to_zoned(TimeZone::UTC));
        let date = date.map_err(|_| {
            Refusal::IncompleteSignature(format!("Date must be in ISO-8601 'basic format'. Got '{}'.", self.date))
        })?;
        let age = now.duration_since(date.timestamp());
        if age.abs() <= TOLERANCE {
            return Ok(());
        }
        let word = if age.is_negative() {
            "Signature not yet current"
        } else {
            "Signature expired"
        };
        Err(Refusal::SignatureDoesNotMatch(format!("{word}: {}", self.date)))
    }

    fn verify_scope(&self, region: &str, service: &str) -> Result<(), Refusal> {
        let day = self.date.get(..8);
        if day == Some(&self.scope.date) && self.scope.region == region && self.scope.service == service {
            return Ok(());
        }
        Err(Refusal::SignatureDoesNotMatch(format!(
            "Credential should be scoped to {}/{region}/{service}",
            day.unwrap_or_default()
        )))
    }
}

fn read_credential(text: &str) -> Result<(String, Scope), Refusal> {
    let parts: Vec<&str> = text.split('/').collect();
    let [key, date, region, service, "aws4_request"] = parts.as_slice() else {
        return Err(Refusal::IncompleteSignature(format!(
            "Credential must have exactly 5 slash-delimited elements, got '{text}'"
        )));
    };
    let scope = Scope {
        date: (*date).to_owned(),
        region: (*region).to_owned(),
        service: (*service).to_owned(),
    };
    Ok(((*key).to_owned(), scope))
}

fn header(request: &Request<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let mut values = request.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => one
            .to_str()
            .map(|text| Some(text.to_owned()))
            .map_err(|_| Refusal::IncompleteSignature(format!("header '{name}' is not text"))),
        (Some(_), Some(_)) => Err(Refusal::IncompleteSignature(format!("header '{name}' is given twice"))),
    }
}

fn sign(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "get-vanilla" of the vectors that AWS publishes for Signature Version 4.
    #[test]
    fn the_published_example_verifies() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "example.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, \
                 Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let request = Request {
            method: &Method::GET,
            uri: &Uri::from_static("/"),
            headers: &headers,
            body: b"",
        };
        let claim = Claim::read(&request).unwrap();
        let verify = |secret, time: &str| claim.verify(&request, secret, "us-east-1", "service", time.parse().unwrap());
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        assert_eq!(verify(secret, "2015-08-30T12:51:00Z"), Ok(()));
        assert!(verify("another", "2015-08-30T12:51:00Z").is_err());
        assert!(verify(secret, "2015-08-30T12:51:01Z").is_err());
        assert!(verify(secret, "2015-08-30T12:20:59Z").is_err());
    }
}
