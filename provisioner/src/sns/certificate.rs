//! The certificate that a message says it was signed with.
//!
//! Its issuer is not looked at, as in none of AWS's own validators: that it is AWS's is known because it came over TLS
//! from the one host that is computed from the operator's own topic. The URL in the message only chooses the file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use reqwest::StatusCode;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;
use x509_parser::pem::parse_x509_pem;

use super::Refusal;
use super::signature::SignerKey;
use super::topic::Topic;
use crate::aws::Partition;
use crate::fetch;

/// A region has one certificate, and a second one while it is renewed.
const CACHE_SIZE: usize = 16;

/// Certificates that are fetched at the same time: whoever posts junk shall not make us a flood.
const MAX_FETCHES: usize = 2;

const MAX_LENGTH: usize = 16 * 1024;

/// How long a fetch may wait for its turn; SNS itself waits 15 s for us.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The keys of certificates that were fetched and found good.
#[derive(Debug)]
pub struct Certificates {
    client: reqwest::Client,
    known: Mutex<HashMap<Url, Arc<SignerKey>>>,
    fetches: Semaphore,
}

impl Certificates {
    pub(super) fn new(client: reqwest::Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
            fetches: Semaphore::new(MAX_FETCHES),
        }
    }

    pub(super) async fn key(&self, url: &Url, topic: &Topic, now: Timestamp) -> Result<Arc<SignerKey>, Refusal> {
        if let Some(key) = self.cached(url, now) {
            return Ok(key);
        }
        let pem = self.fetch(url).await.map_err(Refusal::Unavailable)?;
        let key = Arc::new(read(&pem, topic, now)?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CACHE_SIZE {
            known.clear();
        }
        known.insert(url.clone(), Arc::clone(&key));
        Ok(key)
    }

    fn cached(&self, url: &Url, now: Timestamp) -> Option<Arc<SignerKey>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(url).filter(|it| it.is_valid_at(now)).cloned()
    }

    async fn fetch(&self, url: &Url) -> anyhow::Result<Vec<u8>> {
        let _turn = timeout(MAX_WAIT, self.fetches.acquire())
            .await
            .map_err(|_| anyhow!("too many certificates are being fetched"))??;
        let answer = fetch::bounded(self.client.get(url.clone()), MAX_LENGTH).await?;
        if answer.status != StatusCode::OK {
            return Err(anyhow!("`{url}` answers {}", answer.status));
        }
        Ok(answer.body)
    }
}

/// The URL, if it is one from which SNS in the topic's region serves its certificates.
pub fn url(text: &str, topic: &Topic) -> Result<Url, Refusal> {
    let refused = || Refusal::NotAuthentic(format!("its certificate is not one of `{}`", topic.host()));
    let url = Url::parse(text).map_err(|_| refused())?;
    let file = url
        .path()
        .strip_prefix("/SimpleNotificationService-")
        .and_then(|rest| rest.strip_suffix(".pem"))
        .unwrap_or_default();
    // The text must be what the parser made of it: whatever it repairs or strips is no URL of AWS.
    let exact = url.as_str() == text
        && url.scheme() == "https"
        && url.host_str() == Some(&topic.host())
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && !file.is_empty()
        && file.bytes().all(|it| it.is_ascii_alphanumeric());
    if exact { Ok(url) } else { Err(refused()) }
}

/// The key of a certificate, if it is for the signer of the topic's region and valid now.
pub fn read(pem: &[u8], topic: &Topic, now: Timestamp) -> Result<SignerKey, Refusal> {
    let refused = |why: &str| Refusal::NotAuthentic(format!("its certificate {why}"));
    let (_, pem) = parse_x509_pem(pem).map_err(|_| refused("is not PEM"))?;
    let certificate = pem.parse_x509().map_err(|_| refused("is no certificate"))?;
    let expected = signer_name(topic);
    let names = certificate
        .subject_alternative_name()
        .map_err(|_| refused("is not well-formed"))?;
    let fits = names.is_some_and(|names| {
        names
            .value
            .general_names
            .iter()
            .any(|name| matches!(name, x509_parser::extensions::GeneralName::DNSName(name) if *name == expected))
    });
    if !fits {
        return Err(refused(&format!("is not for `{expected}`")));
    }
    let validity = certificate.validity();
    let time = |seconds: i64| Timestamp::from_second(seconds).map_err(|_| refused("is not well-formed"));
    let (from, until) = (
        time(validity.not_before.timestamp())?,
        time(validity.not_after.timestamp())?,
    );
    let key = SignerKey::new(certificate.public_key(), from, until)?;
    if !key.is_valid_at(now) {
        return Err(refused(&format!("is valid from {from} until {until} only")));
    }
    Ok(key)
}

/// The name of the signer's certificate, as AWS's own validator for Java has it.
fn signer_name(topic: &Topic) -> String {
    const OPT_IN: [&str; 17] = [
        "af-south-1",
        "ap-east-1",
        "ap-east-2",
        "ap-south-2",
        "ap-southeast-3",
        "ap-southeast-4",
        "ap-southeast-5",
        "ap-southeast-6",
        "ap-southeast-7",
        "ca-west-1",
        "eu-central-2",
        "eu-south-1",
        "eu-south-2",
        "il-central-1",
        "me-central-1",
        "me-south-1",
        "mx-central-1",
    ];
    let region = topic.region.as_str();
    match topic.partition {
        Partition::China => format!("sns-{region}.amazonaws.com.cn"),
        Partition::GovCloud => "sns-us-gov-west-1.amazonaws.com".to_owned(),
        Partition::Commercial if OPT_IN.contains(&region) => {
            format!("sns-signing.{region}.amazonaws.com")
        }
        Partition::Commercial => "sns.amazonaws.com".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{signer_name, url};
    use crate::sns::topic::Topic;

    const FILE: &str = "SimpleNotificationService-0123abcd.pem";

    fn topic(region: &str, partition: &str) -> Topic {
        format!("arn:{partition}:sns:{region}:123456789012:dynk8s")
            .parse()
            .unwrap()
    }

    #[test]
    fn takes_the_certificates_of_the_topics_region() {
        let text = format!("https://sns.eu-central-1.amazonaws.com/{FILE}");
        assert_eq!(url(&text, &topic("eu-central-1", "aws")).unwrap().as_str(), text);
    }

    #[test_case("http://sns.eu-central-1.amazonaws.com/{}"; "no TLS")]
    #[test_case("https://sns.eu-west-1.amazonaws.com/{}"; "another region")]
    #[test_case("https://sns.s3-us-west-2.amazonaws.com/{}"; "a bucket named sns")]
    #[test_case("https://sns.eu-central-1.amazonaws.com.cn/{}"; "another partition")]
    #[test_case("https://sns.eu-central-1.amazonaws.com.evil.example/{}"; "a longer name")]
    #[test_case("https://SNS.eu-central-1.amazonaws.com/{}"; "another spelling")]
    #[test_case("https://sns.eu-central-1.amazonaws.com./{}"; "a trailing dot")]
    #[test_case("https://sns.eu-central-1.amazonaws.com:8443/{}"; "another port")]
    #[test_case("https://sns.eu-central-1.amazonaws.com@evil.example/{}"; "a user")]
    #[test_case("https://evil.example\\@sns.eu-central-1.amazonaws.com/{}"; "a backslash")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/x/{}"; "a folder")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/../{}"; "a folder above")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/{}?x"; "a query")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/{}#x"; "a fragment")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/{}\n"; "a trailing newline")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/{}/x.pem"; "a file below")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-.pem"; "no number")]
    #[test_case("https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-a%2fb.pem"; "an escape")]
    #[test_case("file:///etc/{}"; "a file")]
    #[test_case(""; "nothing")]
    fn refuses(text: &str) {
        assert!(url(&text.replace("{}", FILE), &topic("eu-central-1", "aws")).is_err());
    }

    #[test_case("eu-central-1", "aws", "sns.amazonaws.com"; "default")]
    #[test_case("eu-central-2", "aws", "sns-signing.eu-central-2.amazonaws.com"; "opt-in")]
    #[test_case("mx-central-1", "aws", "sns-signing.mx-central-1.amazonaws.com"; "the newest opt-in")]
    #[test_case("cn-north-1", "aws-cn", "sns-cn-north-1.amazonaws.com.cn"; "china")]
    #[test_case("us-gov-east-1", "aws-us-gov", "sns-us-gov-west-1.amazonaws.com"; "govcloud")]
    fn knows_the_signers_name(region: &str, partition: &str, name: &str) {
        assert_eq!(signer_name(&topic(region, partition)), name);
    }
}
