//! What a certificate must be to be the signer's of a region.

use dynk8s_api::partition::Partition;
use jiff::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

use crate::sns::Refusal;
use crate::sns::signature::SignerKey;
use crate::sns::topic::Topic;

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
            .any(|name| matches!(name, GeneralName::DNSName(name) if *name == expected))
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
    let (region, suffix) = (topic.region.as_str(), topic.partition.dns_suffix());
    match topic.partition {
        Partition::GovCloud => "sns-us-gov-west-1.amazonaws.com".to_owned(),
        Partition::China | Partition::Iso | Partition::IsoB => format!("sns-{region}.{suffix}"),
        Partition::Commercial if !OPT_IN.contains(&region) => format!("sns.{suffix}"),
        Partition::Commercial | Partition::Sovereign | Partition::IsoE | Partition::IsoF => {
            format!("sns-signing.{region}.{suffix}")
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::signer_name;
    use crate::sns::topic::Topic;

    #[test_case("eu-central-1", "aws", "sns.amazonaws.com"; "default")]
    #[test_case("eu-central-2", "aws", "sns-signing.eu-central-2.amazonaws.com"; "opt-in")]
    #[test_case("mx-central-1", "aws", "sns-signing.mx-central-1.amazonaws.com"; "the newest opt-in")]
    #[test_case("cn-north-1", "aws-cn", "sns-cn-north-1.amazonaws.com.cn"; "china")]
    #[test_case("eusc-de-east-1", "aws-eusc", "sns-signing.eusc-de-east-1.amazonaws.eu"; "european sovereign cloud")]
    #[test_case("us-gov-east-1", "aws-us-gov", "sns-us-gov-west-1.amazonaws.com"; "govcloud")]
    #[test_case("us-isob-east-1", "aws-iso-b", "sns-us-isob-east-1.sc2s.sgov.gov"; "isolated")]
    #[test_case("eu-isoe-west-1", "aws-iso-e", "sns-signing.eu-isoe-west-1.cloud.adc-e.uk"; "isolated in europe")]
    fn knows_the_signers_name(region: &str, partition: &str, name: &str) {
        let arn = format!("arn:{partition}:sns:{region}:123456789012:dynk8s");
        assert_eq!(signer_name(&arn.parse::<Topic>().unwrap()), name);
    }
}
