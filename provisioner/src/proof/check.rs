//! What the provisioner can tell of a claim by itself, before it asks anybody.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_api::PublicKey;
use dynk8s_api::claim::{ClaimRequest, StsProof};
use dynk8s_api::problem::Reason;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::version;
use crate::aws;
use crate::config::Config;

/// STS takes a signature for 15 minutes.
const MAX_DISTANCE: SignedDuration = SignedDuration::from_mins(15);

const MAX_TOKEN: usize = 8 * 1024;

/// A claim whose form is right. Its sender holds the claim key, for the envelope opened; nothing else is proven.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The claim key.
    pub sender: PublicKey,
    pub request: ClaimRequest,
    /// Why the kubelet does not fit the API server, if it does not.
    pub skew: Option<String>,
}

impl Asked {
    /// The kubelet key's hash as a Worker keeps it.
    pub fn kubelet_key(&self) -> String {
        STANDARD.encode(self.request.kubelet_key)
    }
}

/// A refusal: for the agent's code, and in words.
pub type Fault = (Reason, String);

/// Checks forms, lengths, region and date. `server` is the API server's version.
pub fn check(
    sender: PublicKey,
    request: ClaimRequest,
    server: &str,
    config: &Config,
    now: Timestamp,
) -> Result<Asked, Fault> {
    check_form(&request).map_err(|what| (Reason::Malformed, format!("`{what}` is not of the agreed form")))?;
    let region = &request.sts.region;
    if !config.lists_region(region) {
        return Err((
            Reason::NotEligible,
            format!("no node group lists the region `{region}`"),
        ));
    }
    let date = date(&request.sts.date).ok_or_else(|| (Reason::Malformed, "`sts.date` is no date".to_owned()))?;
    if now.duration_since(date).abs() > MAX_DISTANCE {
        let text = format!("the proof was signed at {date}, and here it is {now:.0}; set the clock");
        return Err((Reason::NotProven, text));
    }
    let skew = version::skew(&request.kubelet_version, server);
    Ok(Asked { sender, request, skew })
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

    fn result(pointer: &str, value: Value) -> Result<(), Reason> {
        let mut json = json!({
            "nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "sts": {
                "region": "eu-central-1", "date": "20261201T120000Z", "accessKeyId": "ASIA0123456789ABCDEF",
                "signature": "0".repeat(64), "sessionToken": "IQoJb3JpZ2luX2Vj/+==",
            },
            "kubeletKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "kubeletVersion": "v1.37.2",
        });
        if !pointer.is_empty() {
            *json.pointer_mut(pointer).unwrap() = value;
        }
        let request: ClaimRequest = serde_json::from_value(json).unwrap();
        let config: Config = toml::from_str(include_str!("../../testdata/provisioner.toml")).unwrap();
        let now: Timestamp = "2026-12-01T12:10:00Z".parse().unwrap();
        check(PrivateKey::generate().public(), request, "v1.37.2", &config, now)
            .map(drop)
            .map_err(|(reason, _)| reason)
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
    fn refuses(pointer: &str, value: Value, reason: Reason) {
        assert_eq!(result(pointer, value), Err(reason));
    }
}
