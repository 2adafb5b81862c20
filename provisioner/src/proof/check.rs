//! What the provisioner can tell of a claim by itself, before it asks anybody.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_api::claim::{ClaimRequest, StsProof};
use dynk8s_api::document::MAX_TEXT;
use dynk8s_api::problem::Reason;
use dynk8s_api::{InstanceId, PublicKey};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::decide::{check_region, reads_documents};
use super::document::{self, Documented, verify};
use super::version;
use crate::aws;
use crate::config::Config;
use crate::refusal::Refusal;

/// STS takes a signature for 15 minutes.
const MAX_DISTANCE: SignedDuration = SignedDuration::from_mins(15);

const MAX_TOKEN: usize = 8 * 1024;

/// A claim in which everything is right that can be told alone. Its sender holds the claim key, for the envelope opened.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The claim key.
    pub sender: PublicKey,
    pub request: ClaimRequest,
    /// What its identity document says, verified.
    pub document: Option<Documented>,
    /// Why the kubelet does not fit the API server, if it does not.
    pub skew: Option<String>,
}

impl Asked {
    /// The kubelet key's hash as a Worker keeps it.
    pub fn kubelet_key(&self) -> String {
        STANDARD.encode(self.request.kubelet_key)
    }

    /// Whether its proof may show another account than this one.
    pub fn may_be_of_another_account_than(&self, account: &str) -> bool {
        self.document.as_ref().is_none_or(|it| it.account != account)
    }

    /// Compares the kubelet with the API server.
    #[must_use]
    pub fn compared_with(mut self, server: &str) -> Self {
        self.skew = version::skew(&self.request.kubelet_version, server);
        self
    }
}

/// Checks forms, lengths and date, and the identity document with its signature. Nobody is asked.
pub fn check(
    instance: &InstanceId,
    sender: PublicKey,
    request: ClaimRequest,
    config: &Config,
    now: Timestamp,
) -> Result<Asked, Refusal> {
    check_form(&request)
        .map_err(|what| Refusal::new(Reason::Malformed, format!("`{what}` is not of the agreed form")))?;
    let date = date(&request.sts.date).ok_or_else(|| Refusal::new(Reason::Malformed, "`sts.date` is no date"))?;
    if now.duration_since(date).abs() > MAX_DISTANCE {
        let text = format!("the proof was signed at {date}, and here it is {now:.0}; set the clock");
        return Err(Refusal::new(Reason::NotProven, text));
    }
    let region = &request.sts.region;
    let document = request.document.as_ref().filter(|_| reads_documents(region, config));
    let document = match document {
        Some(text) => {
            Some(verify(text.expose(), instance, region, config.proof.signers(region)).map_err(|it| unproven(&it))?)
        }
        None => None,
    };
    let account = document.as_ref().map(|it| it.account.as_str());
    check_region(account, region, config).map_err(|(reason, text)| Refusal::new(reason, text))?;
    Ok(Asked {
        sender,
        request,
        document,
        skew: None,
    })
}

/// The caller learns that it does not hold, and the log why.
fn unproven(refusal: &document::Refusal) -> Refusal {
    let (reason, told) = match refusal {
        document::Refusal::Malformed(_) => (Reason::Malformed, "`document` is not of the agreed form"),
        document::Refusal::Stranger | document::Refusal::Altered | document::Refusal::Another { .. } => {
            (Reason::NotProven, "the identity document does not prove this instance")
        }
    };
    Refusal::new(reason, told).because(refusal.to_string())
}

fn check_form(request: &ClaimRequest) -> Result<(), &'static str> {
    let StsProof {
        region,
        access_key_id,
        signature,
        session_token,
        ..
    } = &request.sts;
    let capital = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit();
    let hexadecimal = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
    let printable = |it: u8| it.is_ascii_graphic();
    let right = [
        ("sts.region", aws::is_region(region)),
        (
            "sts.accessKeyId",
            (16..=128).contains(&access_key_id.len()) && access_key_id.bytes().all(capital),
        ),
        (
            "sts.signature",
            signature.expose().len() == 64 && signature.expose().bytes().all(hexadecimal),
        ),
        (
            "sts.sessionToken",
            (1..=MAX_TOKEN).contains(&session_token.expose().len()) && session_token.expose().bytes().all(printable),
        ),
        (
            "document",
            request.document.as_ref().is_none_or(|it| it.expose().len() <= MAX_TEXT),
        ),
        ("kubeletVersion", version::is_version(&request.kubelet_version)),
    ];
    match right.into_iter().find(|(_, right)| !right) {
        Some((what, _)) => Err(what),
        None => Ok(()),
    }
}

fn date(text: &str) -> Option<Timestamp> {
    let shape = |(at, byte): (usize, u8)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 16 || !text.bytes().enumerate().all(shape) {
        return None;
    }
    let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use dynk8s_api::PrivateKey;
    use dynk8s_api::claim::ClaimRequest;
    use dynk8s_api::problem::Reason;
    use jiff::Timestamp;
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::check;
    use crate::config::Config;
    use crate::proof::fixture::{self, Made};

    fn config() -> Config {
        let mut config: Config = toml::from_str(include_str!("../../testdata/provisioner.toml")).unwrap();
        config
            .proof
            .trust(fixture::certificates("eu-central-1", &fixture::pem()));
        config
    }

    fn document(instance: &str) -> String {
        let content = fixture::content(instance);
        let made = Made {
            content: &content,
            ..Made::default()
        };
        made.text()
    }

    fn result(pointer: &str, value: Value) -> Result<(), Reason> {
        let mut json = json!({
            "nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "sts": {
                "region": "eu-central-1", "date": "20261201T120000Z", "accessKeyId": "ASIA0123456789ABCDEF",
                "signature": "0".repeat(64), "sessionToken": "IQoJb3JpZ2luX2Vj/+==",
            },
            "document": document("i-0123456789abcdef0"),
            "kubeletKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "kubeletVersion": "v1.37.2",
        });
        if !pointer.is_empty() {
            *json.pointer_mut(pointer).unwrap() = value;
        }
        let request: ClaimRequest = serde_json::from_value(json).unwrap();
        let now: Timestamp = "2026-12-01T12:10:00Z".parse().unwrap();
        let instance = "i-0123456789abcdef0".parse().unwrap();
        check(&instance, PrivateKey::generate().public(), request, &config(), now)
            .map(drop)
            .map_err(|it| it.reason)
    }

    #[test_case("", json!(null); "as agents write it")]
    #[test_case("/kubeletVersion", json!("v1.37.2-eks-0a1b2c3"); "a distribution's version")]
    #[test_case("/sts/date", json!("20261201T115501Z"); "almost fifteen minutes old")]
    #[test_case("/sts/date", json!("20261201T122459Z"); "almost fifteen minutes ahead")]
    fn admits(pointer: &str, value: Value) {
        assert_eq!(result(pointer, value), Ok(()));
    }

    #[test_case("/sts/region", json!("eu-central-1.evil.example/"), Reason::Malformed; "a host for a region")]
    #[test_case("/sts/region", json!("eu-west-1"), Reason::NotEligible; "a region that no group lists")]
    #[test_case("/sts/date", json!("20261201T115459Z"), Reason::NotProven; "too old")]
    #[test_case("/sts/date", json!("20261201T122501Z"), Reason::NotProven; "too far ahead")]
    #[test_case("/sts/date", json!("20261301T120000Z"), Reason::Malformed; "a thirteenth month")]
    #[test_case("/sts/date", json!("2026-12-01T12:00:00Z"), Reason::Malformed; "another format")]
    #[test_case("/sts/date", json!("20261201T120000Z\r\nx"), Reason::Malformed; "a second header in the date")]
    #[test_case("/sts/accessKeyId", json!("ASIA/20261201/us"), Reason::Malformed; "a scope in the key id")]
    #[test_case("/sts/accessKeyId", json!("ASIA"), Reason::Malformed; "a short key id")]
    #[test_case("/sts/signature", json!("A".repeat(64)), Reason::Malformed; "a signature in capitals")]
    #[test_case("/sts/signature", json!("0".repeat(63)), Reason::Malformed; "a short signature")]
    #[test_case("/sts/sessionToken", json!(""), Reason::Malformed; "no token")]
    #[test_case("/sts/sessionToken", json!("a".repeat(9000)), Reason::Malformed; "a huge token")]
    #[test_case("/sts/sessionToken", json!("a\r\nhost: x"), Reason::Malformed; "a second header in the token")]
    #[test_case("/kubeletVersion", json!("1.37.2"), Reason::Malformed; "a version without v")]
    #[test_case("/kubeletVersion", json!("v1.37"), Reason::Malformed; "a version of two numbers")]
    #[test_case("/kubeletVersion", json!("v1.37.2 <script>"), Reason::Malformed; "a version that is more")]
    #[test_case("/document", json!(null), Reason::NotProven; "no document")]
    #[test_case("/document", json!(document("i-0123456789abcdef1")), Reason::NotProven; "another instance's document")]
    #[test_case("/document", json!(include_str!("../../api/testdata/identity-document.rsa2048")), Reason::NotProven; "a stranger's document")]
    #[test_case("/document", json!("MIAG"), Reason::Malformed; "a document that is none")]
    #[test_case("/document", json!("\n".repeat(8193)), Reason::Malformed; "a huge document")]
    fn refuses(pointer: &str, value: Value, reason: Reason) {
        assert_eq!(result(pointer, value), Err(reason));
    }
}
