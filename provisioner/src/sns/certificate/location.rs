//! Where SNS serves the certificates of a region. The URL in a message only chooses the file.

use url::Url;

use crate::sns::Refusal;
use crate::sns::topic::Topic;

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

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::url;
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
}
