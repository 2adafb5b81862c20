//! The ARN of a topic. Everything that is asked of SNS is asked of the region that the operator's own ARN names.

use std::str::FromStr;

use dynk8s_api::partition::Partition;

use crate::aws;

/// `arn:<partition>:sns:<region>:<account>:<name>`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    pub arn: String,
    pub partition: Partition,
    pub region: String,
    pub account: String,
    /// Whether it may still sign with SHA-1.
    pub signs_with_sha1: bool,
}

/// What was given is no ARN of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `arn:<partition>:sns:<region>:<account>:<name>`")]
pub struct InvalidTopic;

impl Topic {
    /// The one host of SNS that may be asked about this topic.
    pub fn host(&self) -> String {
        format!("sns.{}.{}", self.region, self.partition.dns_suffix())
    }
}

impl FromStr for Topic {
    type Err = InvalidTopic;

    fn from_str(arn: &str) -> Result<Self, InvalidTopic> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", partition, "sns", region, account, name] = parts[..] else {
            return Err(InvalidTopic);
        };
        let partition_of_region = Partition::of_region(region);
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let valid = aws::is_region(region)
            && partition == partition_of_region.as_str()
            && aws::is_account(account)
            && (1..=256).contains(&name.len())
            && name.bytes().all(named);
        if !valid {
            return Err(InvalidTopic);
        }
        Ok(Self {
            arn: arn.to_owned(),
            partition: partition_of_region,
            region: region.to_owned(),
            account: account.to_owned(),
            signs_with_sha1: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::Topic;

    #[test_case("arn:aws:sns:eu-central-1:123456789012:dynk8s", "sns.eu-central-1.amazonaws.com")]
    #[test_case("arn:aws-cn:sns:cn-north-1:123456789012:dynk8s", "sns.cn-north-1.amazonaws.com.cn")]
    #[test_case(
        "arn:aws-eusc:sns:eusc-de-east-1:123456789012:dynk8s",
        "sns.eusc-de-east-1.amazonaws.eu"
    )]
    #[test_case(
        "arn:aws-us-gov:sns:us-gov-west-1:123456789012:dynk8s",
        "sns.us-gov-west-1.amazonaws.com"
    )]
    #[test_case("arn:aws-iso:sns:us-iso-east-1:123456789012:dynk8s", "sns.us-iso-east-1.c2s.ic.gov")]
    fn names_its_host(arn: &str, host: &str) {
        assert_eq!(arn.parse::<Topic>().unwrap().host(), host);
    }

    #[test_case(""; "empty")]
    #[test_case("arn:aws:sqs:eu-central-1:123456789012:dynk8s"; "a queue")]
    #[test_case("arn:aws:sns:eu-central-1:123456789012:dynk8s:0123"; "a subscription")]
    #[test_case("arn:aws:sns:eu-central-1:1234:dynk8s"; "a short account")]
    #[test_case("arn:aws:sns:eu-central-1.evil.example/:123456789012:dynk8s"; "a region that is more")]
    #[test_case("arn:aws-cn:sns:eu-central-1:123456789012:dynk8s"; "a partition that is not the region's")]
    #[test_case("arn:aws:sns:eu-central-1:123456789012:"; "no name")]
    #[test_case("arn:aws:sns:eu-central-1:123456789012:a b"; "a space in the name")]
    fn refuses(arn: &str) {
        assert!(arn.parse::<Topic>().is_err());
    }
}
